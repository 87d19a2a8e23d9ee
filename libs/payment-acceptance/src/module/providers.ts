import type { Provider } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { MariaBillStore } from '../bills/storage/mariadb/bill.store.js';
import { PostgresBillStore } from '../bills/storage/postgres/bill.store.js';
import { CALLBACKS } from '../callbacks/providers.js';
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
import { EVENTS } from '../events/providers.js';
import { HEALTH } from '../health/providers.js';
import { RetentionWorker } from '../retention/retention.worker.js';
import { MariaRetentionStore } from '../retention/storage/mariadb/retention.store.js';
import { PostgresRetentionStore } from '../retention/storage/postgres/retention.store.js';
import { RetentionStore } from '../retention/storage/retention.store.js';
import { SETTLEMENT } from '../settlement/providers.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { CallbackRequests } from './callback-requests.js';
import { PaymentAcceptanceRuntime } from './payment-acceptance.runtime.js';
import { PaymentAcceptanceService } from './payment-acceptance.service.js';
import { PaymentShops } from './payment-shops.js';
import { PaymentWorkers } from './payment-workers.js';
import { RegistrationCheck } from './registration-check.js';
import { ShopIdentities } from './shop-identities.js';

/** The core: everything that runs by itself, from the lowest layer up. */
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
  ...EVENTS,
  ...CALLBACKS,
  BillService,
  perDatabase(BillStore, PostgresBillStore, MariaBillStore),
  ...SETTLEMENT,
  ...HEALTH,
  RetentionWorker,
  perDatabase(RetentionStore, PostgresRetentionStore, MariaRetentionStore),
  PaymentAcceptanceService,
  PaymentShops,
  PaymentWorkers,
  ShopIdentities,
  CallbackRequests,
  RegistrationCheck,
  PaymentAcceptanceRuntime,
];
