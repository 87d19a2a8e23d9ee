import type { ModuleMetadata } from '@nestjs/common';
import type { PaymentRoutesOptions } from './options.js';

/** What shapes controllers and tokens stands beside the factory: these exist before any factory runs. */
export interface PaymentAcceptanceExtras {
  routes?: PaymentRoutesOptions;
  /** Receive callbacks, run the workers, or both. Default `all`. */
  role?: 'all' | 'callbacks' | 'workers';
  /** Name of the TypeORM data source that holds the orders. Default: the default one. */
  dataSource?: string;
  /** Modules whose providers the decorators of the routes need (guards, interceptors). Default: none. */
  routeImports?: ModuleMetadata['imports'];
}
