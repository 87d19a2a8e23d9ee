import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { refuseFailure } from '../../database/database.errors.js';
import type { PaymentTransactions } from '../../database/payment-transactions.js';
import { typeOrmTransactions } from '../../database/typeorm-transactions.js';
import { findRecord, insertRecord, verifyRecord, type InboxDialect, type InboxRecord } from './inbox-record.js';
import { dataSourceOf, inboxDialect } from './inbox-table.js';
import { processOnceInLayer } from './process-once-in-layer.js';

type Work = (manager: EntityManager) => Promise<unknown>;

/** A day: TypeORM's own transactions have no limit. */
const LIMITS = { workMs: 86_400_000 };

const layers = new WeakMap<DataSource, PaymentTransactions<EntityManager>>();

export async function processOnceInTypeOrm(manager: EntityManager, record: InboxRecord, work: Work): Promise<boolean> {
  const dialect = inboxDialect(manager);
  const { queryRunner } = manager;
  if (!queryRunner) return processOnceInLayer(layerOf(dataSourceOf(manager)), record, work, LIMITS);
  // READ COMMITTED: after waiting for another transaction, that transaction's record must be visible. Inside the
  // caller's transaction this is a savepoint, so that no record stays behind if the caller continues after an error of
  // the work.
  const isDone = await manager.transaction('READ COMMITTED', async (inner) => {
    if (!(await insert(inner, record, dialect))) return false;
    await (dialect === 'mysql' ? untilFailed(queryRunner, () => work(inner)) : work(inner));
    return true;
  });
  if (isDone) await verify(manager, record, dialect);
  return isDone;
}

function layerOf(dataSource: DataSource): PaymentTransactions<EntityManager> {
  const layer = layers.get(dataSource) ?? typeOrmTransactions(dataSource, () => Promise.resolve('READ COMMITTED'));
  layers.set(dataSource, layer);
  return layer;
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
  const working = Promise.resolve().then(work);
  await working.finally(() => (runner.query = query as typeof runner.query));
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
