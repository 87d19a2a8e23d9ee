import { Body, Controller, Get, HttpCode, Param, Post, Req, Res, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { PaymentRoutesOptions } from '../config/options.js';
import { CallbackResponder, type AnyRequest, type AnyResponse } from './callback.responder.js';

/**
 * Makes the two callback controllers for one registration of the module: the routes are known before any factory runs,
 * and no metadata is changed afterwards. Bodies are `unknown`, so that a host's strict global pipe lets them through.
 */
export function createCallbackControllers(routes: PaymentRoutesOptions): Type[] {
  const decorators = routes.decorators ?? [];
  /** On the methods, since a guard may read only these. */
  const HostDecorators = (): MethodDecorator => (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
  const under = (path: string): string => [...(routes.path ?? '').split('/'), path].filter(Boolean).join('/');

  @Controller({ path: under('redirect/payment'), version: VERSION_NEUTRAL })
  class PaymentRedirectController {
    constructor(
      private readonly responder: CallbackResponder,
      private readonly host: HttpAdapterHost,
    ) {}

    @Post(['success', 'success/:shop'])
    @HttpCode(303)
    @HostDecorators()
    success(
      @Param('shop') shop: string | undefined,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.redirect('redirect-success', shop, body, this.exchange(request, response));
    }

    @Post(['fail', 'fail/:shop'])
    @HttpCode(303)
    @HostDecorators()
    fail(
      @Param('shop') shop: string | undefined,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.redirect('redirect-fail', shop, body, this.exchange(request, response));
    }

    @Get('result/:ticket')
    @HostDecorators()
    result(@Param('ticket') ticket: string, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.result(ticket, this.exchange(request, response));
    }

    private exchange(request: unknown, response: unknown) {
      return { adapter: this.host.httpAdapter, request: request as AnyRequest, response: response as AnyResponse };
    }
  }

  @Controller({ path: under('postback/payment'), version: VERSION_NEUTRAL })
  class PaymentPostbackController {
    constructor(
      private readonly responder: CallbackResponder,
      private readonly host: HttpAdapterHost,
    ) {}

    @Post(['', ':shop'])
    @HttpCode(200)
    @HostDecorators()
    postback(
      @Param('shop') shop: string | undefined,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.postback(shop, body, {
        adapter: this.host.httpAdapter,
        request: request as AnyRequest,
        response: response as AnyResponse,
      });
    }
  }

  return [PaymentRedirectController, PaymentPostbackController];
}
