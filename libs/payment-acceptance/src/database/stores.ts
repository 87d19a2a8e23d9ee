import type { FactoryProvider } from '@nestjs/common';
import { Database } from './database.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';

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
    useFactory(database: Database) {
      if (database instanceof PostgresDatabase) return new postgres(database);
      if (database instanceof MariaDatabase) return new maria(database);
      throw new PaymentUnsupportedDataSourceError(database.source.type);
    },
  };
}
