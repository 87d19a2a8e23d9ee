import type { ConnectionSource } from './connection-source.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import {
  DEFAULT_CONNECTIONS,
  openMysqlPool,
  openPgPool,
  type MysqlPoolFactory,
  type PgPoolClass,
} from './pool-source.js';

/** The parts of a `DataSource` of TypeORM that are used. */
export interface TypeOrmDataSource {
  readonly driver: object;
  readonly isInitialized: boolean;
  readonly options: { readonly type: string };
}

/** What TypeORM's drivers have but do not declare. */
interface Driver {
  readonly master?: { readonly options: { readonly password?: unknown } };
  readonly postgres?: { readonly Pool: PgPoolClass };
  readonly mysql?: MysqlPoolFactory;
  createConnectionOptions?(options: object, credentials: object): object;
}

/**
 * Opens connections of the module's own to the database of a data source, with the settings that its driver has
 * resolved; with replication, to its primary server.
 * @throws PaymentUnsupportedDataSourceError for a database that cannot guarantee what the module promises
 */
export function openBeside(dataSource: TypeOrmDataSource, connections = DEFAULT_CONNECTIONS): ConnectionSource {
  const { options, isInitialized } = dataSource;
  const { type } = options;
  const driver = dataSource.driver as Driver;
  if (type !== 'postgres' && type !== 'mariadb' && type !== 'mysql') throw new PaymentUnsupportedDataSourceError(type);
  if (!isInitialized) {
    const advice = 'Omit manualInitialization, or set the database in the option storage: { url }.';
    throw new PaymentUnsupportedDataSourceError(type, `It is not initialized. ${advice}`);
  }
  if (driver.master && driver.postgres) {
    const { options: resolved } = driver.master;
    // The password is not enumerable, so that it is not printed: the spread omits it.
    return openPgPool(driver.postgres.Pool, { ...resolved, password: resolved.password }, connections);
  }
  if (!driver.mysql || !driver.createConnectionOptions) throw new PaymentUnsupportedDataSourceError(type);
  const { replication } = options as { replication?: { master: object } };
  return openMysqlPool(
    driver.mysql,
    driver.createConnectionOptions(options, replication?.master ?? options),
    connections,
  );
}
