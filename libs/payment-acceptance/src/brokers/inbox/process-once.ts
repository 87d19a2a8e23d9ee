import type { EntityManager, QueryRunner } from 'typeorm';
import { runUnlessFailed } from '../../database/mariadb/failed-statements.js';
import { runUnlessFailed as runUnlessFailedOnPostgres } from '../../database/postgres/failed-statements.js';
import { isPgClient, removeFromPool } from '../../database/postgres/pg-connection.js';
import { refuseFailure, STATEMENT_FAILED, transact, type Transaction } from '../../database/transaction.js';
import { isUniqueViolation } from '../../database/query-errors.js';
import { INBOX_TABLE, dataSourceOf, inboxDialect, type InboxDialect } from './inbox-table.js';

export interface ProcessOnceOptions {
  /**
   * Name of the consumer, if several on one database each process every event. 1 to 100 characters. Default `default`.
   */
  consumer?: string;
}

/**
 * Runs the work for an event that this consumer has not processed yet. The work and the record of the event share one
 * transaction: both commit, or neither. If the work swallowed a failed statement, nothing is kept and an error is
 * thrown, because the database may have undone earlier statements. A concurrent call with the same event waits for this
 * one and then does nothing. An error of the work is rethrown, and the event counts as unprocessed again.
 * @param manager `dataSource.manager`; the manager of your own transaction, which then commits everything; or that of a query
 * runner without a transaction, which gets one
 * @param event a message as `readPaymentEvent` returns it, or anything with an id that all copies of an event share
 * @param work writes through the manager it is given
 * @returns `true` if this call has done the work: it is committed, or part of your transaction, which is still open; `false` for a
 * copy
 * @throws RangeError for an id or consumer name that the table cannot hold
 * @throws Error if the transaction was ended before the work was over: the event then has to come again
 */
export async function processOnce(
  manager: EntityManager,
  event: { readonly id: string },
  work: (manager: EntityManager) => Promise<unknown>,
  { consumer = 'default' }: ProcessOnceOptions = {},
): Promise<boolean> {
  const { id } = event;
  checkText('id of the event', id, 255);
  checkText('name of the consumer', consumer, 100);
  const dialect = inboxDialect(manager);
  const own: Processed = { dialect, consumer, id };
  let began = false;
  const once = async (inner: EntityManager, run: typeof work): Promise<boolean> => {
    began = await insert(inner, own);
    if (began) await run(inner);
    return began;
  };
  // READ COMMITTED: after waiting for another transaction, its record must be visible. Inside the caller's transaction
  // this is a savepoint: if the caller continues after an error of the work, no record stays behind.
  const level = 'READ COMMITTED';
  if (manager.queryRunner) {
    const { queryRunner } = manager;
    const whole = (inner: EntityManager): Promise<unknown> =>
      dialect === 'mysql' ? untilFailed(queryRunner, () => work(inner)) : work(inner);
    const isDone = await manager.transaction(level, (inner) => once(inner, whole));
    if (isDone) await verify(manager, own);
    return isDone;
  }
  const run = (transaction: Transaction, connection: unknown): Promise<boolean> => {
    const check = (): void => refuseFailure(began && transaction.hasFailed);
    const verified = async (inner: EntityManager): Promise<void> => {
      await work(inner);
      if (dialect === 'mysql') check();
      await verify(inner, own);
    };
    const whole = (inner: EntityManager): Promise<boolean> => once(inner, verified);
    const options = { level, check } as const;
    if (dialect === 'mysql') return runUnlessFailed(transaction, whole, options);
    return isPgClient(connection)
      ? runUnlessFailedOnPostgres(transaction, connection, whole, options)
      : transaction.run(whole, options); // pg-native
  };
  return transact(dataSourceOf(manager), run, { destroy: dialect === 'postgres' ? removeFromPool : destroy });
}

/** For connections of `mysql2`. */
function destroy(_runner: QueryRunner, connection: unknown): Promise<void> {
  (connection as { destroy(): void }).destroy();
  return Promise.resolve();
}

/** That a consumer has processed an event. */
interface Processed {
  readonly dialect: InboxDialect;
  readonly consumer: string;
  readonly id: string;
}

/**
 * Runs the work on a query runner of the caller's. On MariaDB a deadlock rolls the whole transaction back, and what follows would
 * commit by itself: so after a failed statement further ones are refused.
 */
async function untilFailed(runner: QueryRunner, work: () => Promise<unknown>): Promise<void> {
  const query = runner.query.bind(runner) as (text: string, ...given: unknown[]) => Promise<unknown>;
  let hasFailed = false;
  runner.query = (async (text: string, ...given: unknown[]) => {
    if (!text.startsWith('ROLLBACK TO SAVEPOINT')) refuseFailure(hasFailed);
    try {
      return await query(text, ...given);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }) as typeof runner.query;
  await work().finally(() => (runner.query = query as typeof runner.query));
  refuseFailure(hasFailed);
}

/** @throws Error if the record is not there: then the transaction has ended without it, whatever the work believes */
async function verify(manager: EntityManager, { dialect, consumer, id }: Processed): Promise<void> {
  const [first, second] = dialect === 'postgres' ? ['$1', '$2'] : ['?', '?'];
  const text = `SELECT 1 FROM ${INBOX_TABLE} WHERE consumer = ${first} AND event_id = ${second}`;
  const rows = await manager.query<unknown[]>(text, [consumer, id]).catch((cause: unknown) => {
    throw new Error(STATEMENT_FAILED, { cause });
  });
  if (rows.length > 0) return;
  throw new Error(
    `The transaction of the event "${id}" was ended before its work was over: by a ROLLBACK on its connection, or by the database ` +
      'after a failed statement whose error the work caught. Do not acknowledge the event: it has to come again.',
  );
}

/** Inserts the record; `false` if it exists. Waits for another transaction that is inserting the same one. */
async function insert(manager: EntityManager, { dialect, consumer, id }: Processed): Promise<boolean> {
  if (dialect === 'postgres') {
    const rows: unknown[] = await manager.query(
      `INSERT INTO ${INBOX_TABLE} (consumer, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING event_id`,
      [consumer, id],
    );
    return rows.length > 0;
  }
  try {
    await manager.query(`INSERT INTO ${INBOX_TABLE} (consumer, event_id) VALUES (?, ?)`, [consumer, id]);
    return true;
  } catch (error) {
    // A duplicate undoes only the statement, not the transaction. INSERT IGNORE would also accept values that do not
    // fit.
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}

function checkText(what: string, text: unknown, maxLength: number): void {
  const fits = typeof text === 'string' && text.length > 0 && text.length <= maxLength && text.isWellFormed();
  // MySQL considers texts equal that differ only in trailing spaces.
  if (!fits || text.includes('\0') || text.trimEnd() !== text) {
    throw new RangeError(
      `The ${what} must be a string of 1 to ${maxLength} characters, well-formed, without NUL or trailing whitespace.`,
    );
  }
}
