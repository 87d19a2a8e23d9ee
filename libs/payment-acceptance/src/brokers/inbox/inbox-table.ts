import type { DataSource, EntityManager } from 'typeorm';
import type { PaymentTransactions } from '../../database/payment-transactions.js';
import type { InboxDialect } from './inbox-record.js';
import { dialectOf, runIn } from './process-once-in-layer.js';

/** The parts of TypeORM's `EntityManager` that distinguish it from other data layers, from data sources and query runners. */
export interface InboxManager {
  withRepository(repository: never): unknown;
  readonly queryRunner?: object | undefined;
  query(text: string, values?: unknown[]): Promise<unknown>;
}

export function isLayer(target: PaymentTransactions | InboxManager): target is PaymentTransactions {
  return 'placeholders' in target;
}

const CREATE: Readonly<Record<InboxDialect, string>> = {
  postgres: `CREATE TABLE IF NOT EXISTS payment_inbox (
  consumer varchar(100) NOT NULL, event_id varchar(255) NOT NULL,
  processed_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (consumer, event_id))`,
  // Binary collation: ids are compared byte by byte.
  mysql: `CREATE TABLE IF NOT EXISTS payment_inbox (
  consumer varchar(100) NOT NULL, event_id varchar(255) NOT NULL,
  processed_at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), PRIMARY KEY (consumer, event_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
};

/** @throws TypeError for what is no manager, and for a data source that `processOnce` does not support */
export function inboxDialect(manager: EntityManager): InboxDialect {
  if (typeof (manager as Partial<InboxManager>).withRepository !== 'function') {
    throw new TypeError(
      'This is no EntityManager: pass dataSource.manager, or the manager of your transaction (queryRunner.manager).',
    );
  }
  const { type } = dataSourceOf(manager).options;
  if (type === 'postgres') return 'postgres';
  if (type === 'mysql' || type === 'mariadb') return 'mysql';
  throw new TypeError(`processOnce works on PostgreSQL, MySQL and MariaDB, not on a data source of type "${type}".`);
}

export function dataSourceOf(manager: EntityManager): DataSource {
  // In TypeORM 0.3, `dataSource` is named `connection`.
  const { dataSource, connection } = manager as { dataSource?: DataSource; connection?: DataSource };
  return (dataSource ?? connection) as DataSource;
}

/**
 * Creates the table `payment_inbox` if it does not exist. Call it in a migration of yours, as
 * `await createPaymentInbox(runner.manager)`, or pass the transactions of another data layer. On MySQL and MariaDB it is an
 * InnoDB table.
 */
export async function createPaymentInbox(target: InboxManager | PaymentTransactions): Promise<void> {
  if (!isLayer(target)) {
    await target.query(CREATE[inboxDialect(target as EntityManager)]);
    return;
  }
  const text = CREATE[await dialectOf(target)];
  await runIn(target, (tx) => target.query(tx, text, [], 'count'));
}
