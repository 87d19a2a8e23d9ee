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
  /** Set it where a guard of the whole application, or a proxy, lets only operators through. Default `false`. */
  guardedElsewhere?: boolean;
  /** Where the console is. Default `payment-console`. */
  path?: string;
  /**
   * Who acts, as it is recorded with every action: from the adapter's request, after the guards. Who has no name can
   * look, and do nothing. Default: `request.user`'s `email`, `username`, `name`, `sub` or `id`, whichever is there first;
   * where no guard is required, else `developer`.
   */
  operator?: (request: ConsoleRequest) => string | undefined;
  /**
   * The only shop that this operator may see and act on; `null` for all. `undefined` is answered with 403, so that a name
   * that is missing opens nothing. Default: all.
   */
  shop?: (request: ConsoleRequest) => string | null | undefined;
}

/** What Express's and Fastify's requests have in common, with what guards put there. */
export interface ConsoleRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly url?: string;
  readonly originalUrl?: string;
  readonly protocol?: string;
  readonly user?: unknown;
}
