import type { EntityManager } from 'typeorm';
import type { PaymentTransactions } from '../../database/payment-transactions.js';
import { inboxRecord } from './inbox-record.js';
import { isLayer, type InboxManager } from './inbox-table.js';
import { processOnceInLayer } from './process-once-in-layer.js';
import { processOnceInTypeOrm } from './process-once-in-typeorm.js';

export interface ProcessOnceOptions {
  /**
   * Name of the consumer, if several consumers share a database and each processes every event. 1 to 100 characters. Default
   * `default`.
   */
  consumer?: string;
}

/**
 * Runs the work for an event that this consumer has not processed yet. The work and the record of the event share one
 * transaction: both commit, or neither. If the work swallowed a failed statement, nothing is kept and an error is
 * thrown, because the database may have undone earlier statements. A concurrent call with the same event waits for this
 * one and then does nothing. An error of the work is rethrown, and the event counts as unprocessed again.
 * @param transactions transactions of your data layer, as the option `transactions` takes them. The work may take up to
 * a minute. On MariaDB, the only swallowed failure that counts is a deadlock
 * @param event a message as `readPaymentEvent` returns it, or anything with an id that all copies of an event share
 * @param work writes through the transaction that it is given
 * @returns `true` if this call has done the work, which is then committed, or part of your own transaction, which is still
 * open; `false` for a copy of an event already processed
 * @throws RangeError for an id or consumer name that the table cannot hold
 * @throws Error if the transaction was ended before the work was over: the event must then be delivered again
 */
export function processOnce<Tx>(
  transactions: PaymentTransactions<Tx>,
  event: { readonly id: string },
  work: (tx: Tx) => Promise<unknown>,
  options?: ProcessOnceOptions,
): Promise<boolean>;
/**
 * The same with TypeORM.
 * @param manager `dataSource.manager`; the manager of your own transaction, which then commits everything; or the manager of
 * a query runner without a transaction, for which a transaction is started
 */
export function processOnce<Manager extends InboxManager>(
  manager: Manager,
  event: { readonly id: string },
  work: (manager: Manager) => Promise<unknown>,
  options?: ProcessOnceOptions,
): Promise<boolean>;
export async function processOnce(
  target: PaymentTransactions | InboxManager,
  event: { readonly id: string },
  work: (tx: never) => Promise<unknown>,
  { consumer = 'default' }: ProcessOnceOptions = {},
): Promise<boolean> {
  const record = inboxRecord(event, consumer);
  return isLayer(target)
    ? processOnceInLayer(target, record, work as (tx: unknown) => Promise<unknown>)
    : processOnceInTypeOrm(target as EntityManager, record, work as (manager: EntityManager) => Promise<unknown>);
}
