import { QueryFailedError, type EntityManager, type QueryRunner } from 'typeorm';
import { runUnlessFailed } from '../storage/mariadb/failed-statements.js';
import { runUnlessFailed as runUnlessFailedOnPostgres } from '../storage/postgres/failed-statements.js';
import { isPgClient, removeFromPool } from '../storage/postgres/pg-connection.js';
import { refuseFailure, transact, type Transaction } from '../storage/transaction.js';
import { INBOX_TABLE, dataSourceOf, inboxDialect, type InboxDialect } from './inbox-table.js';

export interface ProcessOnceOptions {
  /** Who processes, where several takers of one database each process every event. 1 to 100 characters. Default `default`. */
  consumer?: string;
}

/**
 * Does the work for an event that this consumer has not processed yet, in one transaction with the record that it has:
 * both commit, or neither. Where the work swallowed the failure of a statement, nothing is kept, and that is thrown: the
 * database may have undone what came before it. Whoever gets the same event at the same moment waits for that, and then
 * does nothing. What the work throws is thrown on, and the event is new again.
 * @param manager `dataSource.manager`; or that of a transaction of yours, which then commits all of it
 * @param event a message as `readPaymentEvent` gives it, or anything with an id that all copies of an event share
 * @param work writes through the manager it is given
 * @returns whether the work was done now; `false` for a copy
 * @throws RangeError for an id or a consumer's name that the table cannot hold
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
  // READ COMMITTED: after the wait for another's transaction its record must be seen. Within a transaction of the caller's
  // it is a savepoint: where the caller goes on after an error of the work, no record of it stays behind.
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

/** A connection of `mysql2`. */
function destroy(_runner: QueryRunner, connection: unknown): Promise<void> {
  (connection as { destroy(): void }).destroy();
  return Promise.resolve();
}

/** Whether there was no record yet. Waits for the end of another transaction that is making the same one. */
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
    // Undoes the statement, not the transaction. INSERT IGNORE would also let through what does not fit.
    if (error instanceof QueryFailedError && (error.driverError as { errno?: unknown }).errno === DUPLICATE)
      return false;
    throw error;
  }
}

/** ER_DUP_ENTRY */
const DUPLICATE = 1062;

function checkText(what: string, text: unknown, longest: number): void {
  const fits = typeof text === 'string' && text.length > 0 && text.length <= longest && text.isWellFormed();
  // MySQL takes two texts for the same that differ by spaces at the end.
  if (!fits || text.includes('\0') || text.trimEnd() !== text) {
    throw new RangeError(
      `The ${what} must be a string of 1 to ${longest} characters, well-formed, without a NUL and a space at its end.`,
    );
  }
}
