import type { Provider } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { MariaBillStore } from '../bills/storage/mariadb/bill.store.js';
import { PostgresBillStore } from '../bills/storage/postgres/bill.store.js';
import { AwaitedResults } from '../callbacks/awaited-results.js';
import { CallbackBodies } from '../callbacks/callback-bodies.js';
import { CallbackWatch } from '../callbacks/callback-watch.js';
import { CallbackResponder } from '../callbacks/callback.responder.js';
import { PaymentCallbacks } from '../callbacks/callback.service.js';
import { DroppedCallbacks } from '../callbacks/dropped-callbacks.js';
import { CallbackJournal } from '../callbacks/journal.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { MariaCallbackStore } from '../callbacks/storage/mariadb/callback.store.js';
import { NamedBillStore } from '../callbacks/storage/named-bill.store.js';
import { PostgresCallbackStore } from '../callbacks/storage/postgres/callback.store.js';
import { ResultStore } from '../callbacks/storage/result.store.js';
import { CheckRequests } from '../client/check-requests.js';
import { PaymentServiceClient } from '../client/payment-service.client.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentRandom } from '../common/random.js';
import { WakeUps } from '../common/wake-ups.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { HostSessions } from '../database/host-sessions.js';
import { MariaHostSessions } from '../database/mariadb/host-sessions.js';
import { PostgresHostSessions } from '../database/postgres/host-sessions.js';
import { Signals } from '../database/signals.js';
import { perDatabase } from '../database/stores.js';
import { AddedConsumers } from '../events/added-consumers.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { EventEmitterConsumers } from '../events/event-emitter.consumer.js';
import { HANDLER_TRANSACTIONS_PROVIDER } from '../events/handler-transactions.provider.js';
import { HandlerExplorer } from '../events/handler.explorer.js';
import { DeliveryStore } from '../events/storage/delivery.store.js';
import { MariaDeliveryStore } from '../events/storage/mariadb/delivery.store.js';
import { PostgresDeliveryStore } from '../events/storage/postgres/delivery.store.js';
import { PaymentGauges } from '../health/payment-gauges.js';
import { PaymentHealthIndicator } from '../health/payment-health.indicator.js';
import { Snapshots } from '../health/snapshot.js';
import { Workload } from '../health/workload.js';
import { StatisticsStore } from '../health/storage/statistics.store.js';
import { RetentionWorker } from '../retention/retention.worker.js';
import { RetentionStore } from '../retention/storage/retention.store.js';
import { BillChecks } from '../settlement/bill-checks.js';
import { BillInquiry } from '../settlement/bill-inquiry.js';
import { CheckClaims } from '../settlement/check-claims.js';
import { Confirmer } from '../settlement/confirmer.js';
import { FollowedShops } from '../settlement/followed-shops.js';
import { SettlementService } from '../settlement/settlement.service.js';
import { SettlementTransactions } from '../settlement/settlement.transactions.js';
import { CheckStore } from '../settlement/storage/check.store.js';
import { DueStore } from '../settlement/storage/due.store.js';
import { InquiryStore } from '../settlement/storage/inquiry.store.js';
import { MariaCheckStore } from '../settlement/storage/mariadb/check.store.js';
import { MariaDueStore } from '../settlement/storage/mariadb/due.store.js';
import { MariaSettlementStore } from '../settlement/storage/mariadb/settlement.store.js';
import { PostgresCheckStore } from '../settlement/storage/postgres/check.store.js';
import { PostgresDueStore } from '../settlement/storage/postgres/due.store.js';
import { PostgresSettlementStore } from '../settlement/storage/postgres/settlement.store.js';
import { SettlementStore } from '../settlement/storage/settlement.store.js';
import { ShopStore } from '../settlement/storage/shop.store.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { CallbackRequests } from './callback-requests.js';
import { PaymentAcceptanceRuntime } from './payment-acceptance.runtime.js';
import { PaymentAcceptanceService } from './payment-acceptance.service.js';
import { PaymentShops } from './payment-shop.js';
import { PaymentWorkers } from './payment-workers.js';
import { RegistrationCheck } from './registration-check.js';
import { ShopIdentities } from '../settlement/shop-identities.js';

/** Everything that runs by itself, from the lowest layer up. */
export const CORE: readonly Provider[] = [
  PaymentClock,
  PaymentProbe,
  PaymentRandom,
  WakeUps,
  Telemetry,
  PaymentMetrics,
  Signals,
  perDatabase(HostSessions, PostgresHostSessions, MariaHostSessions),
  ShopRegistry,
  PaymentServiceClient,
  CheckRequests,
  HandlerExplorer,
  EventEmitterConsumers,
  AddedConsumers,
  HANDLER_TRANSACTIONS_PROVIDER,
  DeliveryWorker,
  perDatabase(DeliveryStore, PostgresDeliveryStore, MariaDeliveryStore),
  PaymentCallbacks,
  CallbackResponder,
  CallbackBodies,
  CallbackJournal,
  CallbackWatch,
  AwaitedResults,
  DroppedCallbacks,
  perDatabase(CallbackStore, PostgresCallbackStore, MariaCallbackStore),
  NamedBillStore,
  ResultStore,
  BillService,
  perDatabase(BillStore, PostgresBillStore, MariaBillStore),
  FollowedShops,
  CheckClaims,
  Confirmer,
  BillChecks,
  BillInquiry,
  SettlementService,
  SettlementTransactions,
  perDatabase(CheckStore, PostgresCheckStore, MariaCheckStore),
  perDatabase(DueStore, PostgresDueStore, MariaDueStore),
  perDatabase(SettlementStore, PostgresSettlementStore, MariaSettlementStore),
  InquiryStore,
  ShopStore,
  PaymentHealthIndicator,
  PaymentGauges,
  Snapshots,
  Workload,
  StatisticsStore,
  RetentionWorker,
  RetentionStore,
  PaymentAcceptanceService,
  PaymentShops,
  PaymentWorkers,
  ShopIdentities,
  CallbackRequests,
  RegistrationCheck,
  PaymentAcceptanceRuntime,
];
