import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';

/** Options of `PaymentConsoleModule.register`. */
export interface PaymentConsoleOptions {
  /**
   * The host's guards, run before every page and action. Without guards, the application starts only if `guardedElsewhere` is set or
   * `NODE_ENV` is `development` or `test`, and the console answers only at `localhost`, `127.0.0.1` and
   * `[::1]`: this keeps websites out, not other machines.
   */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Modules whose providers the guards and decorators need. Default: none. */
  imports?: ModuleMetadata['imports'];
  /** Applied to every page and action, for example `[Roles('payments')]` for a guard that reads the roles. Default: none. */
  decorators?: MethodDecorator[];
  /** Set it if a global guard or a proxy admits only operators. Default `false`. */
  guardedElsewhere?: boolean;
  /** Path of the console. Default `payment-console`. */
  path?: string;
  /**
   * Returns the operator's name, which is recorded with every action; called after the guards with the adapter's request. An operator
   * without a name can view but not act. Default: the first of `email`, `username`, `name`, `sub` and `id` of `request.user`; without
   * guards in development or test, `developer`.
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
