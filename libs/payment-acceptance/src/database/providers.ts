import type { Provider } from '@nestjs/common';
import { HostSessions } from './host-sessions.js';
import { MariaHostSessions } from './mariadb/host-sessions.js';
import { PostgresHostSessions } from './postgres/host-sessions.js';
import { Signals } from './signals.js';
import { perDatabase } from './stores.js';

/** What needs the database and no feature. */
export const DATABASE: readonly Provider[] = [
  Signals,
  perDatabase(HostSessions, PostgresHostSessions, MariaHostSessions),
];
