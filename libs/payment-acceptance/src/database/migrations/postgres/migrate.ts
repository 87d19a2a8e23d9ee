import type { Database } from '../../database.js';
import type { Migration } from '../migration.js';
import { initial } from './0001-initial.js';
import { retention } from './0002-retention.js';
import { traceContext } from './0003-trace-context.js';
import { consoleIndexes } from './0004-console.js';
import { dueOfShop } from './0005-due-of-shop.js';
import { claimsInPlace } from './0006-claims-in-place.js';
import { callbacksThatWait } from './0007-callbacks-that-wait.js';
import { deliveriesOfABill } from './0008-deliveries-of-a-bill.js';
import { headsOfQueues } from './0009-heads-of-queues.js';
import { shopIdentities } from './0010-shop-identities.js';
import { failingBills } from './0011-failing-bills.js';
import { keptDeliveries } from './0012-kept-deliveries.js';
import { assertedEvents } from './0013-asserted-events.js';
import { lostBills } from './0014-lost-bills.js';
import { deliveryErrorCodes } from './0016-delivery-error-codes.js';
import { redactedBills } from './0017-redacted-bills.js';
import { shopIds } from './0018-shop-ids.js';
import { contradictedPayments } from './0019-contradicted-payments.js';
import { waitingDeliveries } from './0020-waiting-deliveries.js';
import { cancelledOrders } from './0021-cancelled-orders.js';
import { deadLettersInOrder, deadLettersOfConsumers } from './0022-dead-letters-in-order.js';
import { flag } from '../../reading.js';
import { rawSql, sql } from '../../statement.js';
import type { OwnTransaction } from '../../own-transaction.js';

export const POSTGRES_MIGRATIONS: readonly Migration[] = [
  initial,
  retention,
  traceContext,
  consoleIndexes,
  dueOfShop,
  claimsInPlace,
  callbacksThatWait,
  deliveriesOfABill,
  headsOfQueues,
  shopIdentities,
  failingBills,
  keptDeliveries,
  assertedEvents,
  lostBills,
  deliveryErrorCodes,
  redactedBills,
  shopIds,
  contradictedPayments,
  waitingDeliveries,
  cancelledOrders,
  deadLettersInOrder,
  deadLettersOfConsumers,
];

/** An arbitrary constant: instances that start together take turns. */
const ADVISORY_LOCK = 7_320_114_905;

/** Whether our tables exist. */
export function postgresTables(database: Database, tx?: OwnTransaction): Promise<boolean> {
  return exists(database, "to_regclass('payment_acceptance.migration')", tx);
}

/** Runs each migration in its own transaction, so that none locks the tables of two. */
export async function migratePostgres(
  database: Database,
  missing: (tx: OwnTransaction) => Promise<readonly Migration[]>,
): Promise<void> {
  await inTurn(database, (tx) => makeSchema(database, tx));
  const next = (tx: OwnTransaction): Promise<boolean> => migrateNext(database, tx, missing);
  while (await inTurn(database, next));
}

function inTurn<T>(database: Database, work: (tx: OwnTransaction) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await database.rows(sql`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)`, {}, tx);
    return work(tx);
  });
}

/** Needs no right to create the schema if an administrator has already created it. */
async function makeSchema(database: Database, tx: OwnTransaction): Promise<void> {
  const schema = rawSql(database.schema);
  if (!(await exists(database, `to_regnamespace('${database.schema}')`, tx))) {
    await database.change(sql`CREATE SCHEMA ${schema}`, tx);
  }
  await database.change(
    sql`CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    tx,
  );
}

/** `false` if no migration was missing. */
async function migrateNext(
  database: Database,
  tx: OwnTransaction,
  missing: (tx: OwnTransaction) => Promise<readonly Migration[]>,
): Promise<boolean> {
  const [migration] = await missing(tx);
  if (!migration) return false;
  for (const statement of migration.statements) await database.change(rawSql(statement), tx);
  await database.change(
    sql`INSERT INTO payment_acceptance.migration (version, name) VALUES (${migration.version}, ${migration.name})`,
    tx,
  );
  return true;
}

async function exists(database: Database, found: string, tx?: OwnTransaction): Promise<boolean> {
  const [row] = await database.rows<{ found: boolean }>(
    sql`SELECT ${rawSql(found)} IS NOT NULL AS found`,
    { found: flag },
    tx,
  );
  return row?.found === true;
}
