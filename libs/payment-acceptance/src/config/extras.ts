import type { ModuleMetadata } from '@nestjs/common';
import type { OpenApiDecorators } from './hooks.js';

/** What shapes controllers and tokens stands beside the factory: these exist before any factory runs. */
export interface PaymentAcceptanceExtras {
  routes?: PaymentRoutesOptions;
  /** Receive callbacks, run the workers, or both. Default `all`. */
  role?: 'all' | 'callbacks' | 'workers';
  /** Name of the TypeORM data source that holds the orders. Default `default`, the one without a name. */
  dataSource?: string;
  /** Modules whose providers the decorators of the routes need (guards, interceptors). Default: none. */
  routeImports?: ModuleMetadata['imports'];
}

/** What the host puts on callback routes. Classes in it (guards, interceptors) are made with what `routeImports` exports. */
export interface RouteDecorators {
  /** Put on every method, for example `Public()` for a global guard that reads the handler. Default: none. */
  decorators?: MethodDecorator[];
  /**
   * Put on the controllers, for example `UseGuards(…)`, `UseInterceptors(…)` or `SkipThrottle()`. An interceptor sees the
   * request; the answer is written past it. Default: none.
   */
  classDecorators?: ClassDecorator[];
}

/** The routes of the payer's redirect. */
export interface RedirectRoutesOptions extends RouteDecorators {
  /** Of the Success URL. Default `redirect/payment/success` (section 4.3, documented as the reference shape). */
  successPath?: string;
  /** Of the Fail URL. Default `redirect/payment/fail` (section 4.3, documented as the reference shape). */
  failPath?: string;
  /** Of the page after the redirect; its ticket follows. Default `redirect/payment/result`. */
  resultPath?: string;
}

/** The route of the service's postback. */
export interface PostbackRoutesOptions extends RouteDecorators {
  /** Of the Result URL. Default `postback/payment`. */
  path?: string;
}

/** Where the callback routes are, and what the host puts on them. */
export interface PaymentRoutesOptions extends RouteDecorators {
  /** Put before all paths. Default: nothing. */
  path?: string;
  /** `false` for none: a controller of the host's calls `PaymentCallbacks.redirect()` and `.result()`. Default `true`. */
  redirect?: boolean | RedirectRoutesOptions;
  /** `false` for none: a controller of the host's calls `PaymentCallbacks.postback()`. Default `true`. */
  postback?: boolean | PostbackRoutesOptions;
  /**
   * The module `@nestjs/swagger` (`import * as swagger from '@nestjs/swagger'`) to describe the routes in the host's
   * document, or `false` to leave them out of it. Default: they appear in it without a description.
   */
  openApi?: OpenApiDecorators | false;
}
