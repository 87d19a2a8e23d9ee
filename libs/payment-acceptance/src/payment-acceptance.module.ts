import { HttpModule } from '@nestjs/axios';
import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { BillService } from './bills/bill.service.js';
import { AwaitedResults } from './callbacks/awaited-results.js';
import { CallbackWatch } from './callbacks/callback-watch.js';
import { CallbackResponder } from './callbacks/callback.responder.js';
import { PaymentCallbacks } from './callbacks/callback.service.js';
import { Forwarder } from './callbacks/forwarder.js';
import { WakeUps } from './common/wake-ups.js';
import { CallbackJournal } from './callbacks/journal.js';
import { DroppedCallbacks } from './callbacks/dropped-callbacks.js';
import { PaymentServiceClient } from './client/payment-service.client.js';
import { PaymentClock } from './common/clock.js';
import { PaymentProbe } from './common/probe.js';
import { PaymentRandom } from './common/random.js';
import { ShopRegistry } from './config/shop-registry.js';
import { AddedConsumers } from './events/added-consumers.js';
import { DeliveryWorker } from './events/delivery.worker.js';
import { EventEmitterConsumers } from './events/event-emitter.consumer.js';
import { HandlerExplorer } from './events/handler.explorer.js';
import { CreationLogs } from './operations/creation-logs.js';
import { LostBills } from './operations/lost-bills.js';
import { PaymentChecks } from './operations/payment-checks.service.js';
import { PaymentDoctor } from './operations/payment-doctor.service.js';
import { PaymentGauges } from './health/payment-gauges.js';
import { Workload } from './health/workload.js';
import { PaymentHealthIndicator } from './health/payment-health.indicator.js';
import { PaymentImport } from './operations/payment-import.service.js';
import { PaymentOperations } from './operations/payment-operations.service.js';
import { PaymentRecords } from './operations/payment-records.service.js';
import { PaymentReconciliation } from './operations/payment-reconciliation.service.js';
import { PaymentRecovery } from './operations/payment-recovery.service.js';
import { PaymentReviews } from './operations/payment-reviews.service.js';
import { RetentionWorker } from './retention/retention.worker.js';
import { Snapshots } from './health/snapshot.js';
import { BillInquiry } from './settlement/bill-inquiry.js';
import { CheckRequests } from './client/check-requests.js';
import { Confirmer } from './settlement/confirmer.js';
import { FollowedShops } from './settlement/followed-shops.js';
import { ShopIdentities } from './module/shop-identities.js';
import { SettlementService } from './settlement/settlement.service.js';
import { Signals } from './database/signals.js';
import { STORES } from './stores.js';
import { PaymentMetrics } from './telemetry/payment-metrics.js';
import { Telemetry } from './telemetry/telemetry.js';
import { CallbackAddresses } from './module/callback-addresses.js';
import { ConfigurableModuleClass } from './module/payment-acceptance.module-definition.js';
import { PaymentAcceptanceRuntime } from './module/payment-acceptance.runtime.js';
import { PaymentAcceptanceService } from './module/payment-acceptance.service.js';
import { PaymentShops } from './module/payment-shops.js';
import { PaymentWorkers } from './module/payment-workers.js';
import { getPaymentShopToken } from './module/tokens.js';

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
 * Also found by a token, since an application may have loaded another copy of the package, with other classes. All but the
 * first are for `nestjs-payment-acceptance/testing`.
 */
const SHARED_BY_COPIES = [PaymentAcceptanceService, PaymentOperations, PaymentWorkers, PaymentClock];

const aliases: FactoryProvider[] = SHARED_BY_COPIES.map((service) => ({
  provide: Symbol.for(`nestjs-payment-acceptance/${service.name}`),
  inject: [service],
  useFactory: (made: object) => made,
}));

/**
 * Takes card payments through the payment acceptance service. Import `forRoot` or `forRootAsync` once, and
 * `forFeature(shop, …)` in the modules that inject a shop by its name.
 */
@Module({
  imports: [HttpModule.register({}), DiscoveryModule],
  providers: [
    ...PUBLIC,
    ...aliases,
    Telemetry,
    PaymentMetrics,
    DroppedCallbacks,
    WakeUps,
    ShopRegistry,
    PaymentServiceClient,
    ...STORES,
    Signals,
    BillService,
    Forwarder,
    CallbackJournal,
    AwaitedResults,
    CallbackWatch,
    PaymentShops,
    CallbackResponder,
    FollowedShops,
    CheckRequests,
    Confirmer,
    BillInquiry,
    DeliveryWorker,
    RetentionWorker,
    ShopIdentities,
    SettlementService,
    HandlerExplorer,
    EventEmitterConsumers,
    AddedConsumers,
    Snapshots,
    PaymentGauges,
    Workload,
    LostBills,
    CreationLogs,
    CallbackAddresses,
    PaymentAcceptanceRuntime,
  ],
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
      useFactory: (made: PaymentShops) => made.shop(shop),
    }));
    return { module: PaymentShopsModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

/** Holds the shops of a feature module. */
@Module({})
class PaymentShopsModule {}
