import type { PaymentTransactions } from '../../database/payment-transactions.js';
import { findRecord, insertRecord, verifyRecord, type InboxDialect, type InboxRecord } from './inbox-record.js';

/** For layers that have a timeout of their own, in milliseconds. */
const TIMEOUT_MS = 60_000;

const dialects = new WeakMap<object, InboxDialect>();

/** Asked once; `?` as a placeholder does not tell, since some layers have it on both. */
export async function dialectOf<Tx>(transactions: PaymentTransactions<Tx>): Promise<InboxDialect> {
  const known = dialects.get(transactions);
  if (known) return known;
  const [row] = await runIn(transactions, async (tx) => {
    const { rows } = await transactions.query(tx, 'SELECT version() AS version', [], 'rows');
    return rows as { version: string }[];
  });
  const dialect = /^PostgreSQL/.test(row?.version ?? '') ? 'postgres' : 'mysql';
  dialects.set(transactions, dialect);
  return dialect;
}

export function runIn<Tx, T>(transactions: PaymentTransactions<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return transactions.run(work, { signal: AbortSignal.timeout(TIMEOUT_MS), timeoutMs: TIMEOUT_MS });
}

/** {@link processOnce} in a transaction that another data layer makes. */
export async function processOnceInLayer<Tx>(
  transactions: PaymentTransactions<Tx>,
  record: InboxRecord,
  work: (tx: Tx) => Promise<unknown>,
): Promise<boolean> {
  const places = transactions.placeholders === '?' ? (['?', '?'] as const) : (['$1', '$2'] as const);
  const values = [record.consumer, record.id];
  const find = async (tx: Tx): Promise<readonly unknown[]> =>
    (await transactions.query(tx, findRecord(places), values, 'rows')).rows;
  const isRecorded = async (): Promise<boolean> => (await runIn(transactions, find)).length > 0;
  const isOnMysql = (await dialectOf(transactions)) === 'mysql';

  const met: { isCopy?: boolean; isInserted?: boolean; thrown?: { readonly error: unknown } } = {};
  const send = (tx: Tx, text: string): Promise<unknown> => transactions.query(tx, text, [], 'count');
  const once = async (tx: Tx): Promise<void> => {
    if ((await find(tx)).length > 0) {
      met.isCopy = true;
      return;
    }
    // After a deadlock whose error the work has caught, its further statements would commit one by one.
    if (isOnMysql) await send(tx, 'SET autocommit = 0');
    try {
      // Waits for another transaction that is inserting the same one.
      await transactions.query(tx, insertRecord(places), values, 'count');
      met.isInserted = true;
      await work(tx);
      await verifyRecord(record, () => find(tx));
      if (isOnMysql) await send(tx, 'SET autocommit = 1'); // which commits
    } catch (error) {
      // What a layer rejects with may be about its rollback.
      met.thrown = { error };
      // If these fail, so does the layer's own end of the transaction, and it gives the connection up.
      if (isOnMysql)
        await send(tx, 'ROLLBACK')
          .then(() => send(tx, 'SET autocommit = 1'))
          .catch(() => undefined);
      throw error;
    }
  };
  try {
    await runIn(transactions, once);
  } catch (error) {
    if (met.thrown && !met.isInserted && (await isRecorded().catch(() => false))) return false;
    throw met.thrown ? met.thrown.error : error;
  }
  if (met.isCopy) return false;
  // Some layers hide a failed COMMIT.
  await verifyRecord(record, () => runIn(transactions, find));
  return true;
}
