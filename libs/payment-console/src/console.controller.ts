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
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { OperatorActions } from './actions/operator-actions.js';
import { ConsolePages } from './console.pages.js';
import { ConsoleResponder, type Exchange } from './console.responder.js';
import type { ConsoleRequest, PaymentConsoleOptions } from './common/options.js';
import { pathOf } from './resolved-options.js';

/**
 * Makes the controller for one registration of the console: its routes and guards are known before any factory runs.
 * The body is `unknown`, so that a host's strict global pipe lets it through.
 */
export function createConsoleController(options: PaymentConsoleOptions): Type {
  /** On the methods, since a guard may read only these. */
  const Guarded = (): MethodDecorator =>
    applyDecorators(...(options.decorators ?? []), UseGuards(...(options.guards ?? [])));

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
    overview(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 0), (context) => this.pages.overview(context));
    }

    @Get('bills')
    @Guarded()
    bills(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.bills(context));
    }

    @Get('bills/:intent')
    @Guarded()
    bill(@Param('intent') intent: string, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 2), (context) => this.pages.bill(context, intent));
    }

    @Get('reviews')
    @Guarded()
    reviews(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.reviews(context));
    }

    @Get('dead-letters')
    @Guarded()
    deadLetters(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.deadLetters(context));
    }

    @Get('unknown-outcomes')
    @Guarded()
    unknownOutcomes(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.unknownOutcomes(context));
    }

    @Get('lost-bills')
    @Guarded()
    lostBills(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.lostBills(context));
    }

    @Get('log')
    @Guarded()
    log(@Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.show(this.exchange(request, response, 1), (context) => this.pages.log(context));
    }

    @Get('assets/:name')
    @Guarded()
    asset(@Param('name') name: string, @Req() request: unknown, @Res() response: unknown): void {
      this.responder.asset(this.exchange(request, response, 2), name);
    }

    @Get('actions/:action/:target')
    @Guarded()
    ask(
      @Param('action') action: string,
      @Param('target') target: string,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.show(this.exchange(request, response, 3), (context) =>
        this.actions.ask(context, action, target),
      );
    }

    @Post('actions/:action/:target')
    @HttpCode(303)
    @Guarded()
    act(
      @Param('action') action: string,
      @Param('target') target: string,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.show(this.exchange(request, response, 3), (context) =>
        this.actions.act(context, action, target, body),
      );
    }

    /** @param depth how many segments the address has below the console's own */
    private exchange(request: unknown, response: unknown, depth: number): Exchange {
      return {
        adapter: this.host.httpAdapter,
        request: request as ConsoleRequest,
        response: response as object,
        depth,
      };
    }
  }

  return PaymentConsoleController;
}
