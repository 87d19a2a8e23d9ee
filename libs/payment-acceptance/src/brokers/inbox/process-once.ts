import { QueryFailedError, type EntityManager, type QueryRunner } from 'typeorm';
import { runUnlessFailed } from '../../database/mariadb/failed-statements.js';
import { runUnlessFailed as runUnlessFailedOnPostgres } from '../../database/postgres/failed-statements.js';
import { isPgClient, removeFromPool } from '../../database/postgres/pg-connection.js';
import { refuseFailure, transact, type Transaction } from '../../database/transaction.js';
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
 * @param manager `dataSource.manager`, or the manager of your own transaction, which then commits everything
 * @param event a message as `readPaymentEvent` returns it, or anything with an id that all copies of an event share
 * @param work writes through the manager it is given
 * @returns whether the work was done by this call; `false` for a copy
 * @throws RangeError for an id or consumer name that the table cannot hold
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
  let began = false;
  const once = async (inner: EntityManager): Promise<boolean> => {
    began = await record(inner, dialect, consumer, id);
    if (began) await work(inner);
    return began;
  };
  // READ COMMITTED: after waiting for another transaction, its record must be visible. Inside the caller's transaction
  // this is a savepoint: if the caller continues after an error of the work, no record stays behind.
  const level = 'READ COMMITTED';
  if (manager.queryRunner) return manager.transaction(level, once);
  const run = (transaction: Transaction, connection: unknown): Promise<boolean> => {
    const options = { level, check: () => refuseFailure(began && transaction.hasFailed) } as const;
    if (dialect === 'mysql') return runUnlessFailed(transaction, once, options);
    return isPgClient(connection)
      ? runUnlessFailedOnPostgres(transaction, connection, once, options)
      : transaction.run(once, options); // pg-native
  };
  return transact(dataSourceOf(manager), run, { destroy: dialect === 'postgres' ? removeFromPool : destroy });
}

/** For connections of `mysql2`. */
function destroy(_runner: QueryRunner, connection: unknown): Promise<void> {
  (connection as { destroy(): void }).destroy();
  return Promise.resolve();
}

/** Inserts the record; `false` if it exists. Waits for another transaction that is inserting the same one. */
async function record(manager: EntityManager, dialect: InboxDialect, consumer: string, id: string): Promise<boolean> {
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
    if (error instanceof QueryFailedError && (error.driverError as { errno?: unknown }).errno === DUPLICATE)
      return false;
    throw error;
  }
}

/** ER_DUP_ENTRY */
const DUPLICATE = 1062;

function checkText(what: string, text: unknown, maxLength: number): void {
  const fits = typeof text === 'string' && text.length > 0 && text.length <= maxLength && text.isWellFormed();
  // MySQL considers texts equal that differ only in trailing spaces.
  if (!fits || text.includes('\0') || text.trimEnd() !== text) {
    throw new RangeError(
      `The ${what} must be a string of 1 to ${maxLength} characters, well-formed, without NUL or trailing whitespace.`,
    );
  }
}
