import type { EntityManager, QueryRunner } from 'typeorm';
import { runUnlessFailed } from '../../database/mariadb/failed-statements.js';
import { runUnlessFailed as runUnlessFailedOnPostgres } from '../../database/postgres/failed-statements.js';
import { isPgClient, removeFromPool } from '../../database/postgres/pg-connection.js';
import { refuseFailure, transact, type Transaction } from '../../database/transaction.js';
import { findRecord, insertRecord, verifyRecord, type InboxDialect, type InboxRecord } from './inbox-record.js';
import { dataSourceOf, inboxDialect } from './inbox-table.js';

type Work = (manager: EntityManager) => Promise<unknown>;

export async function processOnceInTypeOrm(manager: EntityManager, record: InboxRecord, work: Work): Promise<boolean> {
  const dialect = inboxDialect(manager);
  let began = false;
  const insertAndRun = async (inner: EntityManager, run: Work): Promise<boolean> => {
    began = await insert(inner, record, dialect);
    if (began) await run(inner);
    return began;
  };
  // READ COMMITTED: after waiting for another transaction, that transaction's record must be visible. Inside the
  // caller's transaction this is a savepoint, so that no record stays behind if the caller continues after an error of
  // the work.
  const level = 'READ COMMITTED';
  if (manager.queryRunner) {
    const { queryRunner } = manager;
    const runWork = (inner: EntityManager): Promise<unknown> =>
      dialect === 'mysql' ? untilFailed(queryRunner, () => work(inner)) : work(inner);
    const isDone = await manager.transaction(level, (inner) => insertAndRun(inner, runWork));
    if (isDone) await verify(manager, record, dialect);
    return isDone;
  }
  const run = (transaction: Transaction, connection: unknown): Promise<boolean> => {
    const check = (): void => refuseFailure(began && transaction.hasFailed);
    const runAndVerify = async (inner: EntityManager): Promise<void> => {
      await work(inner);
      if (dialect === 'mysql') check();
      await verify(inner, record, dialect);
    };
    const insertAndVerify = (inner: EntityManager): Promise<boolean> => insertAndRun(inner, runAndVerify);
    const options = { level, check } as const;
    if (dialect === 'mysql') return runUnlessFailed(transaction, insertAndVerify, options);
    return isPgClient(connection)
      ? runUnlessFailedOnPostgres(transaction, connection, insertAndVerify, options)
      : transaction.run(insertAndVerify, options); // pg-native
  };
  return transact(dataSourceOf(manager), run, dialect === 'postgres' ? removeFromPool : destroy);
}

function destroy(_runner: QueryRunner, connection: unknown): Promise<void> {
  (connection as { destroy(): void }).destroy();
  return Promise.resolve();
}

/**
 * Runs the work on the caller's query runner. On MariaDB, a deadlock rolls the whole transaction back, and statements
 * sent afterwards would commit one by one. So after a failed statement, all further statements are refused.
 */
async function untilFailed(runner: QueryRunner, work: () => Promise<unknown>): Promise<void> {
  const query = runner.query.bind(runner) as (text: string, ...args: unknown[]) => Promise<unknown>;
  let hasFailed = false;
  runner.query = (async (text: string, ...args: unknown[]) => {
    if (!text.startsWith('ROLLBACK TO SAVEPOINT')) refuseFailure(hasFailed);
    try {
      return await query(text, ...args);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }) as typeof runner.query;
  await work().finally(() => (runner.query = query as typeof runner.query));
  refuseFailure(hasFailed);
}

const PLACEHOLDERS = { postgres: ['$1', '$2'], mysql: ['?', '?'] } as const;

function verify(manager: EntityManager, record: InboxRecord, dialect: InboxDialect): Promise<void> {
  return verifyRecord(record, () => manager.query(findRecord(PLACEHOLDERS[dialect]), [record.consumer, record.id]));
}

/** Returns `false` if the record exists. Waits for another transaction that is inserting the same record. */
async function insert(manager: EntityManager, { consumer, id }: InboxRecord, dialect: InboxDialect): Promise<boolean> {
  const text = insertRecord(PLACEHOLDERS[dialect]);
  if (dialect === 'postgres') {
    const rows: unknown[] = await manager.query(`${text} ON CONFLICT DO NOTHING RETURNING event_id`, [consumer, id]);
    return rows.length > 0;
  }
  // IGNORE would also accept values that do not fit, but the record's values are checked. A plain INSERT that fails would
  // count as a failed statement of the work.
  const { affectedRows } = await manager.query<{ affectedRows: number }>(text.replace('INSERT', 'INSERT IGNORE'), [
    consumer,
    id,
  ]);
  return affectedRows > 0;
}
