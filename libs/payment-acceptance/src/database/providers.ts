import type { Provider } from '@nestjs/common';
import { DestroyableTransaction } from './destroyable-transaction.js';
import { MariaDestroyableTransaction } from './mariadb/destroyable-transaction.js';
import { PostgresDestroyableTransaction } from './postgres/destroyable-transaction.js';
import { HostSessions } from './host-sessions.js';
import { MariaHostSessions } from './mariadb/host-sessions.js';
import { PostgresHostSessions } from './postgres/host-sessions.js';
import { Signals } from './signals.js';
import { perDatabase } from './stores.js';

/** What needs the database and no feature. */
export const DATABASE: readonly Provider[] = [
  Signals,
  perDatabase(DestroyableTransaction, PostgresDestroyableTransaction, MariaDestroyableTransaction),
  perDatabase(HostSessions, PostgresHostSessions, MariaHostSessions),
];
