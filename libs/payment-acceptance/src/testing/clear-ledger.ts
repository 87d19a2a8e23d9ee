import type { Database } from '../database/database.js';
import { rawSql } from '../database/statement.js';

/** The ledger's tables about orders, each before the tables that it refers to. Shops and consumers stay. */
const TABLES = [
  'delivery',
  'review',
  'event',
  'payment',
  'callback',
  'lost_bill',
  'operator_action',
  'bill',
  'shop_order',
] as const;

export function clearLedger(database: Database): Promise<void> {
  return database.transaction(async (manager) => {
    for (const table of TABLES) await manager.change`DELETE FROM payment_acceptance.${rawSql(table)}`;
  });
}
