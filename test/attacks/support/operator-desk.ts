import {
  Body,
  Catch,
  Controller,
  createParamDecorator,
  Get,
  HttpCode,
  Module,
  Post,
  UnauthorizedException,
  UseFilters,
  UseGuards,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import {
  PaymentOperatorActionError,
  PaymentOperations,
  PaymentRecords,
  PaymentReviews,
  type DeadLetterFilter,
} from 'nestjs-payment-acceptance/operations';

/** The shop that the caller may act for; `undefined` for an unknown caller. */
function shopOf(context: ExecutionContext): string | undefined {
  const { headers } = context.switchToHttp().getRequest<{ headers: { authorization?: string } }>();
  return /^Bearer operator-of-(main|eu)$/.exec(headers.authorization ?? '')?.[1];
}
const OwnShop = createParamDecorator((_: unknown, context: ExecutionContext) => shopOf(context));

class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (shopOf(context) !== undefined) return true;
    throw new UnauthorizedException();
  }
}

@Catch(PaymentOperatorActionError)
class ConflictFilter implements ExceptionFilter<PaymentOperatorActionError> {
  catch({ name, message }: PaymentOperatorActionError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: object): void } }>();
    response.status(409).send({ error: name, message });
  }
}

/** A host's own routes for operators, each of whom may act for one shop. */
@Controller('desk')
@UseGuards(OperatorGuard)
@UseFilters(ConflictFilter)
class DeskController {
  constructor(
    private readonly operations: PaymentOperations,
    private readonly reviews: PaymentReviews,
    private readonly records: PaymentRecords,
  ) {}

  @Get('stats')
  stats(@OwnShop() shop: string) {
    return this.operations.forShop(shop).stats();
  }

  @Get('shops')
  shops(@OwnShop() shop: string) {
    return this.operations.forShop(shop).shopStates();
  }

  @Get('unknown')
  unknown(@OwnShop() shop: string) {
    return this.records
      .forShop(shop)
      .bills({ states: ['UNKNOWN'] })
      .then(({ rows }) => rows);
  }

  @Get('dead-letters')
  deadLetters(@OwnShop() shop: string) {
    return this.operations.forShop(shop).deadLetters();
  }

  @Get('reviews')
  openReviews(@OwnShop() shop: string) {
    return this.reviews.forShop(shop).list();
  }

  @Post('attach')
  @HttpCode(200)
  async attach(@OwnShop() shop: string, @Body() body: { intentId: string; billId: string }) {
    await this.operations.forShop(shop).attachBill(body.intentId, body.billId, { operator: 'ann' });
    return {};
  }

  @Post('void')
  @HttpCode(200)
  async void(@OwnShop() shop: string, @Body() body: { intentId: string }) {
    await this.operations.forShop(shop).voidBill(body.intentId, { operator: 'ann' });
    return {};
  }

  @Post('replay')
  @HttpCode(200)
  async replay(@OwnShop() shop: string, @Body() filter: DeadLetterFilter) {
    return { replayed: await this.operations.forShop(shop).replay(filter, { operator: 'ann' }) };
  }

  @Post('accept')
  @HttpCode(200)
  async accept(@OwnShop() shop: string, @Body() body: { reviewId: string }) {
    await this.reviews.forShop(shop).accept(body.reviewId, { operator: 'ann' });
    return {};
  }

  @Post('dismiss')
  @HttpCode(200)
  async dismiss(@OwnShop() shop: string, @Body() body: { reviewId: string }) {
    await this.reviews.forShop(shop).dismiss(body.reviewId, { operator: 'ann' });
    return {};
  }
}

@Module({ controllers: [DeskController] })
export class OperatorDeskModule {}
