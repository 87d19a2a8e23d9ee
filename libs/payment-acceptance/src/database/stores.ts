import type { FactoryProvider } from '@nestjs/common';
import { Database } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import type { PostgresDatabase } from './postgres/postgres.database.js';

type StoreClass = abstract new (database: never) => unknown;

/** For a store that has a class for each database. */
export function perDatabase<Store extends StoreClass>(
  token: Store,
  postgres: new (database: PostgresDatabase) => InstanceType<Store>,
  maria: new (database: MariaDatabase) => InstanceType<Store>,
): FactoryProvider<InstanceType<Store>> {
  return {
    provide: token,
    inject: [Database],
    useFactory: (database: Database) =>
      database instanceof MariaDatabase ? new maria(database) : new postgres(database as PostgresDatabase),
  };
}
