import { Body, Controller, Get, HttpCode, Param, Post, Req, Res, VERSION_NEUTRAL, type Type } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CallbackResponder, type AnyRequest, type AnyResponse, type Exchange } from './callback.responder.js';
import { describeCallbacks } from './open-api.js';
import { relativePath, type CallbackRoutes } from './routes.js';

/**
 * Makes the callback controllers for one registration of the module: the routes are known before any factory runs, and
 * no metadata is changed afterwards. Bodies are `unknown`, so that a host's strict global pipe lets them through.
 */
export function createCallbackControllers({ redirect, postback, openApi }: CallbackRoutes): Type[] {
  return [
    ...(redirect ? [decorate(createRedirectController(redirect, openApi), redirect.classDecorators)] : []),
    ...(postback ? [decorate(createPostbackController(postback, openApi), postback.classDecorators)] : []),
  ];
}

function createRedirectController(
  { success, fail, result, decorators }: NonNullable<CallbackRoutes['redirect']>,
  openApi: CallbackRoutes['openApi'],
): Type {
  const describe = describeCallbacks(openApi);

  @describe.controller()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentRedirectController {
    constructor(
      private readonly responder: CallbackResponder,
      private readonly host: HttpAdapterHost,
    ) {}

    @Post(success)
    @HttpCode(303)
    @describe.redirect('success')
    @HostDecorators(decorators)
    success(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('success', undefined, body, request, response);
    }

    @Post(`${success}/:shop`)
    @HttpCode(303)
    @describe.redirect('success', 'shop')
    @HostDecorators(decorators)
    successOfShop(
      @Param('shop') shop: string,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.take('success', shop, body, request, response);
    }

    @Post(fail)
    @HttpCode(303)
    @describe.redirect('fail')
    @HostDecorators(decorators)
    fail(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('fail', undefined, body, request, response);
    }

    @Post(`${fail}/:shop`)
    @HttpCode(303)
    @describe.redirect('fail', 'shop')
    @HostDecorators(decorators)
    failOfShop(
      @Param('shop') shop: string,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.take('fail', shop, body, request, response);
    }

    @Get(`${result}/:ticket`)
    @describe.result()
    @HostDecorators(decorators)
    result(@Param('ticket') ticket: string, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.result(ticket, exchange(this.host, request, response));
    }

    private take(
      to: 'success' | 'fail',
      shop: string | undefined,
      body: unknown,
      request: unknown,
      response: unknown,
    ): Promise<void> {
      const resultPage = (deeper: number) => relativePath(to === 'success' ? success : fail, result, deeper);
      return this.responder.redirect(to, shop, body, exchange(this.host, request, response), resultPage);
    }
  }
  return PaymentRedirectController;
}

function createPostbackController(
  { path, decorators }: NonNullable<CallbackRoutes['postback']>,
  openApi: CallbackRoutes['openApi'],
): Type {
  const describe = describeCallbacks(openApi);

  @describe.controller()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentPostbackController {
    constructor(
      private readonly responder: CallbackResponder,
      private readonly host: HttpAdapterHost,
    ) {}

    @Post(path)
    @HttpCode(200)
    @describe.postback()
    @HostDecorators(decorators)
    postback(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.postback(undefined, body, exchange(this.host, request, response));
    }

    @Post(`${path}/:shop`)
    @HttpCode(200)
    @describe.postback('shop')
    @HostDecorators(decorators)
    postbackOfShop(
      @Param('shop') shop: string,
      @Body() body: unknown,
      @Req() request: unknown,
      @Res() response: unknown,
    ): Promise<void> {
      return this.responder.postback(shop, body, exchange(this.host, request, response));
    }
  }
  return PaymentPostbackController;
}

/** The host's, on the method: a guard may read only this. */
function HostDecorators(decorators: readonly MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
}

function decorate(controller: Type, decorators: readonly ClassDecorator[]): Type {
  for (const decorator of decorators) decorator(controller);
  return controller;
}

function exchange(host: HttpAdapterHost, request: unknown, response: unknown): Exchange {
  return { adapter: host.httpAdapter, request: request as AnyRequest, response: response as AnyResponse };
}
