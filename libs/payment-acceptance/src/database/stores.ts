import type { FactoryProvider } from '@nestjs/common';
import { Database } from './database.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';

type Made<S, D> = new (database: D) => S;

/** A store with a class of its own for each database. */
export function perDatabase<S>(
  token: abstract new (...given: never[]) => S,
  postgres: Made<S, PostgresDatabase>,
  maria: Made<S, MariaDatabase>,
): FactoryProvider<S> {
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
