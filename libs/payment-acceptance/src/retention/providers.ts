import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { RetentionWorker } from './retention.worker.js';
import { MariaRetentionStore } from './storage/mariadb/retention.store.js';
import { PostgresRetentionStore } from './storage/postgres/retention.store.js';
import { RetentionStore } from './storage/retention.store.js';

/** Removing what is old. */
export const RETENTION: readonly Provider[] = [
  RetentionWorker,
  perDatabase(RetentionStore, PostgresRetentionStore, MariaRetentionStore),
];
