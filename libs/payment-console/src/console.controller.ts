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
import { HttpAdapterHost } from '@nestjs/core';
import { OperatorActions, type ActionAddress } from './actions/operator-actions.js';
import { addressOf } from './common/links.js';
import { notFoundRefusal } from './common/page-context.js';
import { ConsolePages } from './console.pages.js';
import { ConsoleResponder, type Exchange } from './console.responder.js';
import type { ConsoleRequest, PaymentConsoleOptions } from './common/options.js';
import { LOCALHOST_GUARD } from './localhost.guard.js';
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
    constructor(
      private readonly responder: ConsoleResponder,
      private readonly pages: ConsolePages,
      private readonly actions: OperatorActions,
      private readonly host: HttpAdapterHost,
    ) {}

    @Get()
    @Guarded()
    overview(@Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.show({ request, response, depth: 0 }, (context) => this.pages.overview(context));
    }

    @Get(Object.keys(LISTS))
    @Guarded()
    list(@Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.show({ request, response, depth: 1 }, (context) => this.pages[listAt(request)](context));
    }

    @Get('bills/:intent')
    @Guarded()
    bill(@Param('intent') intent: string, @Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.show({ request, response, depth: 2 }, (context) => this.pages.bill(context, intent));
    }

    @Get('assets/:name')
    @Guarded()
    asset(@Param('name') name: string, @Req() request: ConsoleRequest, @Res() response: object): void {
      this.responder.asset({ adapter: this.host.httpAdapter, request, response, depth: 2 }, name);
    }

    @Get('actions/:action/:target')
    @Guarded()
    ask(@Param() address: ActionAddress, @Req() request: ConsoleRequest, @Res() response: object): Promise<void> {
      return this.show({ request, response, depth: 3 }, (context) => this.actions.ask(context, address));
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
      return this.show({ request, response, depth: 3 }, (context) => this.actions.act(context, address, form));
    }

    private show(exchange: Omit<Exchange, 'adapter'>, make: Parameters<ConsoleResponder['show']>[1]): Promise<void> {
      return this.responder.show({ ...exchange, adapter: this.host.httpAdapter }, make);
    }
  }

  return PaymentConsoleController;
}

/** Does the same as `ApiExcludeController()` of `@nestjs/swagger`, which the host may not have installed. */
const LeftOutOfOpenApi = (): ClassDecorator => SetMetadata('swagger/apiExcludeController', [true]);

const LISTS = {
  bills: 'bills',
  reviews: 'reviews',
  'dead-letters': 'deadLetters',
  'unknown-outcomes': 'unknownOutcomes',
  'lost-bills': 'lostBills',
  log: 'log',
} as const;

function listAt(request: ConsoleRequest): (typeof LISTS)[keyof typeof LISTS] {
  const name = addressOf(request)
    .pathname.split('/')
    .findLast((segment) => segment !== '');
  // Express matches paths case-insensitively.
  const list = Object.entries(LISTS).find(([address]) => address === name?.toLowerCase());
  if (!list) throw notFoundRefusal('page');
  return list[1];
}
