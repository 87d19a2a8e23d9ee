import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { PaymentGauges } from './payment-gauges.js';
import { PaymentHealthIndicator } from './payment-health.indicator.js';
import { Snapshots } from './snapshot.js';
import { MariaStatisticsStore } from './storage/mariadb/statistics.store.js';
import { PostgresStatisticsStore } from './storage/postgres/statistics.store.js';
import { StatisticsStore } from './storage/statistics.store.js';
import { Workload } from './workload.js';

/** Health, gauges, and what this process is doing. */
export const HEALTH: readonly Provider[] = [
  PaymentHealthIndicator,
  PaymentGauges,
  Snapshots,
  Workload,
  perDatabase(StatisticsStore, PostgresStatisticsStore, MariaStatisticsStore),
];
