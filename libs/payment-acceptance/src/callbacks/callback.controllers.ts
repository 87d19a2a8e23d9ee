import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Param,
  Post,
  Req,
  Res,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CallbackResponder, type AnyRequest, type AnyResponse, type Exchange } from './callback.responder.js';
import { describeCallbacks } from './open-api.js';
import { relativePath, type CallbackRoutes } from './routes.js';

/**
 * Creates the callback controllers for one registration of the module: the routes are known before any factory runs,
 * and no metadata changes afterwards. Bodies are typed `unknown`, so that a host's strict global pipe lets them
 * through.
 */
export function createCallbackControllers({ redirect, postback, openApi }: CallbackRoutes): Type[] {
  return [
    ...(redirect ? [decorate(createRedirectController(redirect, openApi), redirect.classDecorators)] : []),
    ...(postback ? [decorate(createPostbackController(postback, openApi), postback.classDecorators)] : []),
  ];
}

@Injectable()
class CallbackController {
  constructor(
    protected readonly responder: CallbackResponder,
    private readonly host: HttpAdapterHost,
  ) {}

  protected exchange(request: unknown, response: unknown): Exchange {
    return { adapter: this.host.httpAdapter, request: request as AnyRequest, response: response as AnyResponse };
  }
}

function createRedirectController(
  { success, fail, result, decorators }: NonNullable<CallbackRoutes['redirect']>,
  openApi: CallbackRoutes['openApi'],
): Type {
  const describe = describeCallbacks(openApi);

  @describe.controller()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentRedirectController extends CallbackController {
    @Post(success)
    @HttpCode(303)
    @describe.redirect('success')
    @HostDecorators(decorators)
    success(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('success', undefined, body, this.exchange(request, response));
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
      return this.take('success', shop, body, this.exchange(request, response));
    }

    @Post(fail)
    @HttpCode(303)
    @describe.redirect('fail')
    @HostDecorators(decorators)
    fail(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('fail', undefined, body, this.exchange(request, response));
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
      return this.take('fail', shop, body, this.exchange(request, response));
    }

    @Get(`${result}/:ticket`)
    @describe.result()
    @HostDecorators(decorators)
    result(@Param('ticket') ticket: string, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.result(ticket, this.exchange(request, response));
    }

    private take(to: 'success' | 'fail', shop: string | undefined, body: unknown, exchange: Exchange): Promise<void> {
      const resultPage = (deeper: number) => relativePath(to === 'success' ? success : fail, result, deeper);
      return this.responder.redirect(to, shop, body, exchange, resultPage);
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
  class PaymentPostbackController extends CallbackController {
    @Post(path)
    @HttpCode(200)
    @describe.postback()
    @HostDecorators(decorators)
    postback(@Body() body: unknown, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.responder.postback(undefined, body, this.exchange(request, response));
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
      return this.responder.postback(shop, body, this.exchange(request, response));
    }
  }
  return PaymentPostbackController;
}

/** Applies the host's decorators to a method, since a guard may read only method metadata. */
function HostDecorators(decorators: readonly MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
}

function decorate(controller: Type, decorators: readonly ClassDecorator[]): Type {
  for (const decorator of decorators) decorator(controller);
  return controller;
}
