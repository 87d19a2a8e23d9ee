import {
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
import { CallbackResponder, type AnyRequest, type AnyResponse, type Exchange } from './callback.responder.js';
import { relativePath, type CallbackRoutes } from './routes.js';

/**
 * Creates the controllers for one registration of the module: the routes are known before any factory runs, and no
 * metadata changes afterwards. No method takes the body as a parameter, so that a host's strict global pipe has nothing
 * to refuse.
 */
export function createCallbackControllers({ redirect, postback }: CallbackRoutes): Type[] {
  return [
    ...(redirect ? [decorate(createRedirectController(redirect), redirect.classDecorators)] : []),
    ...(postback ? [decorate(createPostbackController(postback), postback.classDecorators)] : []),
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
    return { adapter: this.host.httpAdapter, request: request as AnyRequest, response: response as AnyResponse };
  }
}

function createRedirectController({
  success,
  fail,
  result,
  decorators,
}: NonNullable<CallbackRoutes['redirect']>): Type {
  @LeftOutOfOpenApi()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentRedirectController extends CallbackController {
    @Post(ofAnyShop(success))
    @HttpCode(303)
    @HostDecorators(decorators)
    success(@Param('shop') shop: string | undefined, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('success', shop, this.exchange(request, response));
    }

    @Post(ofAnyShop(fail))
    @HttpCode(303)
    @HostDecorators(decorators)
    fail(@Param('shop') shop: string | undefined, @Req() request: unknown, @Res() response: unknown): Promise<void> {
      return this.take('fail', shop, this.exchange(request, response));
    }

    @Get([...ofAnyShop(success), ...ofAnyShop(fail)])
    @NeverCached()
    @HostDecorators(decorators)
    visited(@Req() request: unknown, @Res() response: unknown): void {
      this.responder.neutral(this.exchange(request, response));
    }

    @Get(`${result}/:ticket`)
    @NeverCached()
    @HostDecorators(decorators)
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

function createPostbackController({ path, decorators }: NonNullable<CallbackRoutes['postback']>): Type {
  @LeftOutOfOpenApi()
  @Controller({ version: VERSION_NEUTRAL })
  class PaymentPostbackController extends CallbackController {
    @Post(ofAnyShop(path))
    @HttpCode(200)
    @HostDecorators(decorators)
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

/** Some guards read only the metadata of the method. */
function HostDecorators(decorators: readonly MethodDecorator[]): MethodDecorator {
  return (target, key, descriptor) => {
    for (const decorator of decorators) decorator(target, key, descriptor);
  };
}

function decorate(controller: Type, decorators: readonly ClassDecorator[]): Type {
  for (const decorator of decorators) decorator(controller);
  return controller;
}
