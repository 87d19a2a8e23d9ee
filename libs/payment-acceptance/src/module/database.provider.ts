import type { FactoryProvider } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { Database } from '../database/database.js';
import { migratePaymentAcceptance, verifySchema } from '../database/migrations/migrate.js';
import { openDatabase } from '../database/open-database.js';

/** The database, ready to use: the module's tables exist by the time it is injected. */
export function databaseProvider(dataSourceName: string): FactoryProvider<Database> {
  return {
    provide: Database,
    inject: [getDataSourceToken(dataSourceName), PaymentClock, RESOLVED_OPTIONS, PaymentProbe],
    useFactory: async (dataSource: DataSource, clock: PaymentClock, options: ResolvedOptions, probe: PaymentProbe) => {
      const database = await openDatabase(dataSource, clock, { ...options, probe });
      database.statementMs = options.statementTimeoutMs;
      if (options.migrations === 'run') await migratePaymentAcceptance(dataSource, options);
      else await verifySchema(database);
      return database;
    },
  };
}
