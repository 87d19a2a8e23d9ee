import type { FactoryProvider, Provider } from '@nestjs/common';
import { Database } from './database.js';
import { DestroyableTransaction } from './destroyable-transaction.js';
import { HostSessions } from './host-sessions.js';
import { MariaDestroyableTransaction } from './mariadb/destroyable-transaction.js';
import { MariaHostSessions } from './mariadb/host-sessions.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { PostgresDestroyableTransaction } from './postgres/destroyable-transaction.js';
import { PostgresHostSessions } from './postgres/host-sessions.js';
import { Signals } from './signals.js';
import { perDatabase } from './stores.js';
import { TypeOrmSource } from './typeorm-source.js';

/** Absent where there is no TypeORM. */
const DESTROYABLE_TRANSACTION: FactoryProvider<DestroyableTransaction | undefined> = {
  provide: DestroyableTransaction,
  inject: [Database],
  useFactory(database: Database) {
    if (!(database.source instanceof TypeOrmSource)) return undefined;
    if (database instanceof PostgresDatabase) return new PostgresDestroyableTransaction(database);
    return new MariaDestroyableTransaction(database);
  },
};

/** What needs the database and no feature. */
export const DATABASE: readonly Provider[] = [
  Signals,
  DESTROYABLE_TRANSACTION,
  perDatabase(HostSessions, PostgresHostSessions, MariaHostSessions),
];
