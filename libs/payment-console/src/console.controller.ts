import {
  applyDecorators,
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Req,
  Res,
  SetMetadata,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { askForAction, performAction, type ActionAddress } from './actions/operator-actions.js';
import { addressOf } from './common/links.js';
import { notFoundRefusal, type Page, type PageContext } from './common/page-context.js';
import { ConsoleResponder } from './console.responder.js';
import type { ConsoleRequest, PaymentConsoleOptions } from './common/options.js';
import { LOCALHOST_GUARD } from './localhost.guard.js';
import { billPage } from './pages/bill.page.js';
import { billsPage } from './pages/bills.page.js';
import { deadLettersPage } from './pages/dead-letters.page.js';
import { logPage } from './pages/log.page.js';
import { lostBillsPage } from './pages/lost-bills.page.js';
import { overviewPage } from './pages/overview.page.js';
import { reviewsPage } from './pages/reviews.page.js';
import { unknownOutcomesPage } from './pages/unknown-outcomes.page.js';
import { hasGuard, pathOf } from './resolved-options.js';

/**
 * Makes the controller for one registration of the console: its routes and guards are known before any factory runs.
 * The body is `unknown`, so that a host's strict global pipe lets it through.
 */
export function createConsoleController(options: PaymentConsoleOptions): Type {
  const guards = hasGuard(options) ? (options.guards ?? []) : [LOCALHOST_GUARD];
  /** Applied to each method, since some guards read only the metadata of the method. */
  const Guarded = (): MethodDecorator => applyDecorators(...(options.decorators ?? []), UseGuards(...guards));

  @LeftOutOfOpenApi()
  @Controller({ path: pathOf(options), version: VERSION_NEUTRAL })
  class PaymentConsoleController {
    constructor(private readonly responder: ConsoleResponder) {}

    @Get()
    @Guarded()
    overview(@Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.responder.show({ request, response, depth: 0 }, overviewPage);
    }

    @Get(Object.keys(PAGES))
    @Guarded()
    list(@Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.responder.show({ request, response, depth: 1 }, (context) => pageAt(request)(context));
    }

    @Get('bills/:intent')
    @Guarded()
    bill(@Param('intent') intent: string, @Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.responder.show({ request, response, depth: 2 }, (context) => billPage(context, intent));
    }

    @Get('assets/:name')
    @Guarded()
    asset(@Param('name') name: string, @Res() response: object): void {
      this.responder.asset(response, name);
    }

    @Get('actions/:action/:target')
    @Guarded()
    ask(@Param() address: ActionAddress, @Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.responder.show({ request, response, depth: 3 }, (context) => askForAction(context, address));
    }

    @Post('actions/:action/:target')
    @HttpCode(303)
    @Guarded()
    act(
      @Param() address: ActionAddress,
      @Body() body: unknown,
      @Req() request: ConsoleRequest,
      @Res() response: object,
    ): Promise<void> {
      const type = String(request.headers['content-type'] ?? '');
      const form = /^application\/x-www-form-urlencoded\b/i.test(type) ? { body } : undefined;
      return this.responder.show({ request, response, depth: 3 }, (context) => performAction(context, address, form));
    }
  }

  return PaymentConsoleController;
}

/** Does the same as `ApiExcludeController()` of `@nestjs/swagger`, which the host may not have installed. */
const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);

const PAGES: Readonly<Record<string, (context: PageContext) => Promise<Page>>> = {
  bills: billsPage,
  reviews: reviewsPage,
  'dead-letters': deadLettersPage,
  'unknown-outcomes': unknownOutcomesPage,
  'lost-bills': lostBillsPage,
  log: logPage,
};

function pageAt(request: ConsoleRequest): (context: PageContext) => Promise<Page> {
  const name = addressOf(request)
    .pathname.split('/')
    .findLast((segment) => segment !== '');
  // Express matches paths case-insensitively.
  const page = Object.entries(PAGES).find(([address]) => address === name?.toLowerCase());
  if (!page) throw notFoundRefusal('page');
  return page[1];
}
