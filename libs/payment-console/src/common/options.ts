import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';

/** Options of `PaymentConsoleModule.register`. */
export interface PaymentConsoleOptions {
  /**
   * The host's guards in front of every page and action. Without any, the application refuses to start, unless `NODE_ENV`
   * says `development` or `test`.
   */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Modules whose providers the guards and decorators need. Default: none. */
  imports?: ModuleMetadata['imports'];
  /** Applied to every page and action, for example `[Roles('payments')]` for a guard that reads it. Default: none. */
  decorators?: MethodDecorator[];
  /** Set it if a global guard or a proxy admits only operators. Default `false`. */
  guardedElsewhere?: boolean;
  /** Where the console is. Default `payment-console`. */
  path?: string;
  /**
   * The operator's name, recorded with every action; called with the adapter's request after the guards. An operator
   * without a name can look but not act. Default: the first of `request.user`'s `email`, `username`, `name`, `sub` and
   * `id`; if no guard is required, else `developer`.
   */
  operator?: (request: ConsoleRequest) => string | undefined;
  /**
   * The only shop that this operator may see and act on; `null` for all. `undefined` is answered with 403, so that a
   * missing name grants nothing. Default: all.
   */
  shop?: (request: ConsoleRequest) => string | null | undefined;
}

/** What Express's and Fastify's requests have in common, and what guards add. */
export interface ConsoleRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly url?: string;
  readonly originalUrl?: string;
  readonly protocol?: string;
  readonly user?: unknown;
}
