import { Module, type DynamicModule, type FactoryProvider, type ModuleMetadata } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ConnectionSource } from '../database/connection-source.js';
import { Database } from '../database/database.js';
import { HOST, type Host } from '../database/handler-transactions.js';
import { migrateTables, verifySchema } from '../database/migrate.js';
import { PaymentPoolExhaustedError } from '../database/database.errors.js';
import { hasNoConnectionLeft } from '../database/query-errors.js';
import { openDatabase } from '../database/open-database.js';
import { openStorage } from '../database/pool-source.js';
import { namesDatabase } from '../database/storage-options.js';
import { openBeside } from '../database/typeorm-source.js';

@Module({})
class PaymentHostModule {}

/**
 * A separate module, since only a module can be loaded asynchronously: the token of the default data source is
 * TypeORM's class.
 */
export async function hostModule(name: string, imports: ModuleMetadata['imports']): Promise<DynamicModule> {
  const typeorm = await import('typeorm').catch(ignoreMissing);
  const token = name === 'default' ? typeorm?.DataSource : `${name}DataSource`;
  const useFactory = (dataSource?: DataSource): Host => ({ dataSource });
  return {
    module: PaymentHostModule,
    imports: imports ?? [],
    providers: [{ provide: HOST, inject: token ? [{ token, optional: true }] : [], useFactory }],
    exports: [HOST],
  };
}

function ignoreMissing(error: unknown): undefined {
  const { code } = error as { code?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
}

/** The module's tables exist by the time the database is injected. */
export function databaseProvider(name: string): FactoryProvider<Database> {
  return {
    provide: Database,
    inject: [HOST, PaymentClock, RESOLVED_OPTIONS, PaymentProbe],
    useFactory: async ({ dataSource }: Host, clock: PaymentClock, options: ResolvedOptions, probe: PaymentProbe) => {
      const source = await sourceOf(options, dataSource, name);
      try {
        const database = await openDatabase(source, clock, { ...options, probe });
        if (options.migrations === 'run') await migrateTables(source, options);
        else await verifySchema(database);
        return database;
      } catch (error) {
        await source.close();
        throw hasNoConnectionLeft(error) ? PaymentPoolExhaustedError.byServer(error) : error;
      }
    },
  };
}

async function sourceOf(
  { storage }: ResolvedOptions,
  dataSource: DataSource | undefined,
  name: string,
): Promise<ConnectionSource> {
  if (namesDatabase(storage)) return openStorage(storage);
  if (dataSource) return openBeside(dataSource, storage.connections);
  const [named, forRoot] = name === 'default' ? ['', ''] : [` "${name}"`, `{ name: '${name}', … }`];
  throw new PaymentConfigurationError([
    `There is no TypeORM data source${named} for the tables of PaymentAcceptanceModule. Import TypeOrmModule.forRoot(${forRoot}) in the ` +
      'root module, or set the database in the option storage: { url } or { pool }.',
  ]);
}
