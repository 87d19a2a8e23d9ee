import { isOfDriver, type PaymentTransactions } from '../../database/payment-transactions.js';
import { withTimeout } from '../../common/timeout.js';
import { findRecord, insertRecord, verifyRecord, type InboxDialect, type InboxRecord } from './inbox-record.js';

const WORK_TIMEOUT_MS = 60_000;
/** For layers that have a timeout of their own, which must not end the transaction before our limit does. */
const GRACE_MS = 10_000;

const FROM_PROCESSLIST = 'FROM information_schema.PROCESSLIST';

/** The address distinguishes a session from a later one with the same id. */
interface Session {
  readonly id: string;
  readonly host: string;
}

const dialects = new WeakMap<object, InboxDialect>();

/** Queries once per layer, because `?` as a placeholder proves nothing: some layers use it for both dialects. */
export async function dialectOf<Tx>(transactions: PaymentTransactions<Tx>): Promise<InboxDialect> {
  const cachedDialect = dialects.get(transactions);
  if (cachedDialect) return cachedDialect;
  const [row] = await runIn(transactions, async (tx) => {
    const { rows } = await transactions.query(tx, 'SELECT version() AS version', [], 'rows');
    return rows as { version: string }[];
  });
  const dialect = /^PostgreSQL/.test(row?.version ?? '') ? 'postgres' : 'mysql';
  dialects.set(transactions, dialect);
  return dialect;
}

export function runIn<Tx, T>(
  transactions: PaymentTransactions<Tx>,
  work: (tx: Tx) => Promise<T>,
  timeoutMs = WORK_TIMEOUT_MS + GRACE_MS,
): Promise<T> {
  return transactions.run(work, { signal: AbortSignal.timeout(timeoutMs), timeoutMs });
}

export async function processOnceInLayer<Tx>(
  transactions: PaymentTransactions<Tx>,
  record: InboxRecord,
  work: (tx: Tx) => Promise<unknown>,
  limits = { workMs: WORK_TIMEOUT_MS },
): Promise<boolean> {
  const places = transactions.placeholders === '?' ? (['?', '?'] as const) : (['$1', '$2'] as const);
  const values = [record.consumer, record.id];
  const find = async (tx: Tx): Promise<readonly unknown[]> =>
    (await transactions.query(tx, findRecord(places), values, 'rows')).rows;
  const isRecorded = async (): Promise<boolean> => (await runIn(transactions, find)).length > 0;
  const holdsCommits = (await dialectOf(transactions)) === 'mysql' && !isOfDriver(transactions);

  const met: { isCopy?: boolean; isInserted?: boolean; thrown?: { readonly error: unknown } } = {};
  const once = async (tx: Tx): Promise<void> => {
    if ((await find(tx)).length > 0) {
      met.isCopy = true;
      return;
    }
    const session = holdsCommits ? await holdCommits(transactions, tx) : undefined;
    let working: Promise<unknown> | undefined;
    let isAtWork = false;
    try {
      // Waits for another transaction that is inserting the same record.
      await transactions.query(tx, insertRecord(places), values, 'count');
      met.isInserted = true;
      isAtWork = true;
      working = Promise.resolve()
        .then(() => work(tx))
        .finally(() => (isAtWork = false));
      await withTimeout(limits.workMs, working, 'The work');
      await verifyRecord(record, () => find(tx));
      if (session !== undefined) await transactions.query(tx, 'SET autocommit = 1', [], 'count'); // which commits
    } catch (error) {
      // The layer may reject with an error of its rollback instead.
      met.thrown = { error };
      if (session !== undefined) {
        // Work still running may send statements after a ROLLBACK, and switching autocommit on would commit them.
        if (isAtWork && working) await untilOver(working, (isWanted) => isEnded(transactions, session, isWanted));
        if (!isAtWork && !(await isRestored(transactions, tx))) await isEnded(transactions, session);
      }
      throw error;
    }
  };
  try {
    await runIn(transactions, once, limits.workMs + GRACE_MS);
  } catch (error) {
    if (met.thrown && !met.isInserted && (await isRecorded().catch(() => false))) return false;
    throw met.thrown ? met.thrown.error : error;
  }
  if (met.isCopy) return false;
  // Some layers hide a failed COMMIT.
  await verifyRecord(record, () => runIn(transactions, find));
  return true;
}

/**
 * Switches autocommit off: otherwise, after a deadlock whose error the work has caught, its further statements would
 * commit one by one.
 */
async function holdCommits<Tx>(transactions: PaymentTransactions<Tx>, tx: Tx): Promise<Session> {
  const sessionQuery = `SELECT CAST(ID AS CHAR) AS id, HOST AS host ${FROM_PROCESSLIST} WHERE ID = CONNECTION_ID()`;
  const { rows } = await transactions.query(tx, sessionQuery, [], 'rows');
  await transactions.query(tx, 'SET autocommit = 0', [], 'count');
  const { id, host } = rows[0] as Session;
  return { id: String(Number(id)), host };
}

/** Returns `false` if the session could not be restored. */
async function isRestored<Tx>(transactions: PaymentTransactions<Tx>, tx: Tx): Promise<boolean> {
  try {
    await transactions.query(tx, 'ROLLBACK', [], 'count');
    await transactions.query(tx, 'SET autocommit = 1', [], 'count');
    return true;
  } catch {
    return false;
  }
}

/**
 * Waits until the work has ended by itself or its session has been ended. Ending the session takes another connection,
 * which may never become free.
 */
async function untilOver(working: Promise<unknown>, end: (isWanted: () => boolean) => Promise<boolean>): Promise<void> {
  const state = { isOver: false, isEnding: false };
  const over = working.then(
    () => undefined,
    () => undefined,
  );
  const isWanted = (): boolean => (state.isEnding = !state.isOver);
  const ended = end(isWanted).then((isEnded) => (isEnded ? undefined : over));
  await Promise.race([over, ended]);
  state.isOver = true;
  // The KILL must not hit the connection's next user.
  if (state.isEnding) await ended;
}

/**
 * Ends a session that cannot be restored and so must not return to its pool.
 * @param isWanted called once a connection is available: whether the session must still be ended
 */
async function isEnded<Tx>(
  transactions: PaymentTransactions<Tx>,
  { id, host }: Session,
  isWanted = (): boolean => true,
): Promise<boolean> {
  // After a restart or on another server, the id may belong to another session.
  const same = `SELECT ID ${FROM_PROCESSLIST} WHERE ID = ? AND HOST = ?`;
  const kill = async (other: Tx): Promise<void> => {
    const { rows } = await transactions.query(other, same, [id, host], 'rows');
    if (rows.length > 0 && isWanted()) await transactions.query(other, `KILL CONNECTION ${id}`, [], 'count');
  };
  return runIn(transactions, kill).then(
    () => true,
    () => false,
  );
}
