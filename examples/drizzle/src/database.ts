import { drizzle } from 'drizzle-orm/node-postgres';
import { numeric, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';
import pg from 'pg';

export const orders = pgTable('orders', {
  id: uuid().primaryKey(),
  amount: numeric({ precision: 10, scale: 2 }).notNull(),
  currency: text().notNull().default('RUB'),
  status: text().notNull().default('pending'),
  note: text(),
});

export const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
export const db = drizzle(pool);
export const transactions = drizzleTransactions(pool, (client) => drizzle(client));

/** What a handler gets. */
export type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];

/** In an application, Drizzle Kit makes the table. */
export const createTables = (): Promise<unknown> =>
  pool.query(`CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY, amount numeric(10, 2) NOT NULL,
    currency text NOT NULL DEFAULT 'RUB', status text NOT NULL DEFAULT 'pending', note text)`);
