import type { ModuleMetadata } from '@nestjs/common';

export const PAYMENT_ROLE = Symbol.for('nestjs-payment-acceptance/role');

/** Options beside the factory: they shape controllers and tokens, which exist before it runs. */
export interface PaymentAcceptanceExtras {
  routes?: PaymentRoutesOptions;
  /** Whether this application receives callbacks, runs the workers, or both. Default `all`. */
  role?: 'all' | 'callbacks' | 'workers';
  /** Name of the TypeORM data source that holds the orders. Default `default`, the one without a name. */
  dataSource?: string;
  /** Modules with the providers that guards and interceptors of the routes need. Default: none. */
  routeImports?: ModuleMetadata['imports'];
}

/**
 * Decorators for the callback routes. Nest creates the guards and interceptors in them with what `routeImports`
 * exports.
 */
export interface RouteDecorators {
  /** Applied to every method, for example `Public()` for a global guard that reads the handler. Default: none. */
  decorators?: MethodDecorator[];
  /**
   * Applied to the controllers, for example `UseGuards(…)`, `UseInterceptors(…)` or `SkipThrottle()`. An interceptor
   * does not see the answer. Default: none.
   */
  classDecorators?: ClassDecorator[];
}

/** The routes of the payer's redirect. */
export interface RedirectRoutesOptions extends RouteDecorators {
  /** Path of the Success URL. Default `redirect/payment/success` (section 4.3, documented as the reference shape). */
  successPath?: string;
  /** Path of the Fail URL. Default `redirect/payment/fail` (section 4.3, documented as the reference shape). */
  failPath?: string;
  /** Path of the page after the redirect; a ticket is appended to it. Default `redirect/payment/result`. */
  resultPath?: string;
}

/** The route of the service's postback. */
export interface PostbackRoutesOptions extends RouteDecorators {
  /** Path of the Result URL. Default `postback/payment`. */
  path?: string;
}

/** Where the callback routes are, and their decorators. */
export interface PaymentRoutesOptions extends RouteDecorators {
  /** Prefix of all paths. Default: none. */
  path?: string;
  /**
   * `false` for none; a controller of yours then calls `PaymentCallbacks.redirect()` and `.result()`. Default `true`.
   */
  redirect?: boolean | RedirectRoutesOptions;
  /** `false` for none; a controller of yours then calls `PaymentCallbacks.postback()`. Default `true`. */
  postback?: boolean | PostbackRoutesOptions;
}
