import {
  applyDecorators,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Param,
  Post,
  Req,
  Res,
  SetMetadata,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { ReceivedRequest } from './callback-bodies.js';
import { CallbackResponder, type Exchange } from './callback.responder.js';
import { relativePath, type CallbackRoutes } from './routes.js';

/**
 * Creates the controllers for one registration of the module: the routes are known before any factory runs, and no
 * metadata changes afterwards. No method takes the body as a parameter, so that a host's strict global pipe has nothing
 * to refuse.
 */
export function createCallbackControllers({ redirect, postback }: CallbackRoutes): Type[] {
  return [
    ...(redirect ? [createRedirectController(redirect)] : []),
    ...(postback ? [createPostbackController(postback)] : []),
  ];
}

/**
 * Only the service and payers call these routes. Sets the metadata that `ApiExcludeController()` sets, since
 * `@nestjs/swagger` may be missing.
 */
const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);

/**
 * A cache of the host (`CacheInterceptor`) would answer with what it has stored, but these methods answer by themselves.
 * Sets the metadata that `@CacheTTL()` sets: what is stored ends at once. Early versions know no key that means none.
 */
const NeverCached = (): MethodDecorator => SetMetadata('cache_module:cache_ttl', 1);

const ofAnyShop = (path: string): string[] => [path, `${path}/:shop`];

@Injectable()
class CallbackController {
  constructor(
    protected readonly responder: CallbackResponder,
    private readonly host: HttpAdapterHost,
  ) {}

  protected exchange(request: unknown, response: unknown): Exchange {
    return { adapter: this.host.httpAdapter, request: request as ReceivedRequest, response: response as object };
  }
}

function createRedirectController({
  success,
  fail,
  result,
  decorators,
  classDecorators,
}: NonNullable<CallbackRoutes['redirect']>): Type {
  @applyDecorators(...classDecorators)
  @LeftOutOfOpenApi()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentRedirectController extends CallbackController {
    @Post(ofAnyShop(success))
    @HttpCode(303)
    // Also on each method: some guards read only the metadata of the method.
    @applyDecorators(...decorators)
    success(@Param('shop') shop: string | undefined, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('success', shop, this.exchange(request, response));
    }

    @Post(ofAnyShop(fail))
    @HttpCode(303)
    @applyDecorators(...decorators)
    fail(@Param('shop') shop: string | undefined, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('fail', shop, this.exchange(request, response));
    }

    @Get([...ofAnyShop(success), ...ofAnyShop(fail)])
    @NeverCached()
    @applyDecorators(...decorators)
    visited(@Req() request: unknown, @Res() response: unknown): void {
      this.responder.neutral(this.exchange(request, response));
    }

    @Get(`${result}/:ticket`)
    @NeverCached()
    @applyDecorators(...decorators)
    result(@Param('ticket') ticket: string, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.result(ticket, this.exchange(request, response));
    }

    private take(to: 'success' | 'fail', shop: string | undefined, exchange: Exchange): Promise<void> {
      const resultPage = (deeper: number) => relativePath(to === 'success' ? success : fail, result, deeper);
      return this.responder.redirect(to, shop, exchange, resultPage);
    }
  }
  return PaymentRedirectController;
}

function createPostbackController({
  path,
  decorators,
  classDecorators,
}: NonNullable<CallbackRoutes['postback']>): Type {
  @applyDecorators(...classDecorators)
  @LeftOutOfOpenApi()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentPostbackController extends CallbackController {
    @Post(ofAnyShop(path))
    @HttpCode(200)
    @applyDecorators(...decorators)
    postback(
      @Param('shop') shop: string | undefined,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.postback(shop, this.exchange(request, response));
    }
  }
  return PaymentPostbackController;
}
