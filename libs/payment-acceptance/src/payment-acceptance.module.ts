import { HttpModule } from '@nestjs/axios';
import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PaymentCallbacks } from './callbacks/callback.service.js';
import { PaymentClock } from './common/clock.js';
import { PaymentProbe } from './common/probe.js';
import { PaymentRandom } from './common/random.js';
import { PaymentConfigurationError } from './config/configuration.error.js';
import { RESOLVED_OPTIONS } from './config/resolved-options.js';
import { PaymentHealthIndicator } from './health/payment-health.indicator.js';
import {
  ConfigurableModuleClass,
  getPaymentShopToken,
  sharedToken,
} from './module/payment-acceptance.module-definition.js';
import { PaymentAcceptanceService } from './module/payment-acceptance.service.js';
import { PaymentShops } from './module/payment-shop.js';
import { Database } from './database/database.js';
import { PaymentWorkers } from './module/payment-workers.js';
import { CORE } from './module/providers.js';
import { PaymentChecks } from './operations/payment-checks.service.js';
import { PaymentDoctor } from './operations/payment-doctor.service.js';
import { PaymentImport } from './operations/payment-import.service.js';
import { PaymentOperations } from './operations/payment-operations.service.js';
import { PaymentReconciliation } from './operations/payment-reconciliation.service.js';
import { PaymentRecords } from './operations/payment-records.service.js';
import { PaymentRecovery } from './operations/payment-recovery.service.js';
import { PaymentReviews } from './operations/payment-reviews.service.js';
import { OPERATIONS } from './operations/providers.js';

/** What applications and other packages can inject. */
const PUBLIC = [
  PaymentAcceptanceService,
  PaymentOperations,
  PaymentReviews,
  PaymentHealthIndicator,
  PaymentChecks,
  PaymentReconciliation,
  PaymentDoctor,
  PaymentImport,
  PaymentRecovery,
  PaymentCallbacks,
  PaymentRecords,
  PaymentWorkers,
  PaymentClock,
  PaymentProbe,
  PaymentRandom,
];

/**
 * Also provided under a token, since an application may have loaded another copy of the package, with other classes. The
 * token is made from the name of the property, since a bundler shortens the names of classes. All but the first are for
 * `nestjs-payment-acceptance/testing`.
 */
const SHARED_BY_COPIES = { PaymentAcceptanceService, PaymentOperations, PaymentWorkers, PaymentClock, Database };

const aliases: FactoryProvider[] = Object.entries(SHARED_BY_COPIES).map(([name, service]) => ({
  provide: sharedToken(name),
  inject: [service],
  useFactory: (instance: object) => instance,
}));

/** In place of the options where the class itself is imported; `forRoot` replaces it. */
const NO_OPTIONS: FactoryProvider = {
  provide: RESOLVED_OPTIONS,
  useFactory() {
    throw new PaymentConfigurationError([
      'A module imports PaymentAcceptanceModule itself. Import PaymentAcceptanceModule.forRoot() or forRootAsync() once, in the root ' +
        "module; other modules need no import, or PaymentAcceptanceModule.forFeature('name') for a shop.",
    ]);
  },
};

/**
 * Takes card payments through the payment acceptance service. Import `forRoot` or `forRootAsync` once, and
 * `forFeature(shop, …)` in the modules that inject a shop by its name.
 */
@Module({
  imports: [HttpModule.register({}), DiscoveryModule],
  providers: [NO_OPTIONS, ...CORE, ...OPERATIONS, ...aliases],
  exports: [...PUBLIC, PaymentShops, ...aliases.map(({ provide }) => provide)],
})
export class PaymentAcceptanceModule extends ConfigurableModuleClass {
  /**
   * Makes the named shops injectable with `@InjectPaymentShop(name)` in the importing module. A name that is missing in the
   * options fails the start, unless there is a `shopResolver`: its shops are looked up when they are used.
   */
  static forFeature(...shops: string[]): DynamicModule {
    const providers = shops.map((shop) => ({
      provide: getPaymentShopToken(shop),
      inject: [PaymentShops],
      useFactory: (paymentShops: PaymentShops) => paymentShops.shop(shop),
    }));
    return { module: PaymentShopsModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

/** Holds the shops of a feature module. */
@Module({})
class PaymentShopsModule {}
