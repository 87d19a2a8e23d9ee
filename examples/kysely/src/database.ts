import { Kysely, PostgresDialect, type Generated } from 'kysely';
import { kyselyTransactions } from 'nestjs-payment-acceptance/kysely';
import pg from 'pg';

export interface Schema {
  orders: {
    id: Generated<string>;
    amount: string;
    currency: Generated<string>;
    status: Generated<string>;
    note: string | null;
  };
}

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
export const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
export const transactions = kyselyTransactions(
  pool,
  (single) => new Kysely<Schema>({ dialect: new PostgresDialect({ pool: single }) }),
);

/** In an application, a migration makes the table. */
export const createTables = (): Promise<unknown> =>
  pool.query(`CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), amount numeric(10, 2) NOT NULL,
    currency text NOT NULL DEFAULT 'RUB', status text NOT NULL DEFAULT 'pending', note text)`);
