import type { Connection } from './connection-source.js';

/** What the module binds in a transaction of another data layer: no lists, no dates, no objects. */
export type Scalar = string | number | boolean | null;

/** How busy the connections of the handlers are. */
export interface PaymentTransactionsPool {
  /** Maximum number of connections. */
  readonly size: number;
  /** Connections not in use, minus the callers waiting for one. */
  free(): number;
}

/**
 * A data layer in whose transactions the handlers run, for hosts that do not write with TypeORM.
 * `nestjs-payment-acceptance/prisma` and its siblings make one for each common layer; for any other layer, implement
 * these members.
 *
 * The module locks the delivery with its first statements, and marks it done with its last, both through `query`: so
 * what the handler writes through `tx` commits together with the mark, or not at all.
 */
export interface PaymentTransactions<Tx = unknown> {
  /** How statements name their parameters. `?` stands for the next value: a value that occurs twice is passed twice. */
  readonly placeholders: '$1' | '?';
  /**
   * The connections that `run` draws from. At most half of them run handlers at a time. Default: ten are assumed, all
   * of them free.
   */
  readonly pool?: PaymentTransactionsPool;
  /**
   * Begins a transaction at READ COMMITTED, calls `work` with it, and commits once `work` has resolved; rolls back and
   * rejects if it rejects. From the moment `work` settles, `tx` must refuse statements: what a handler sends later
   * would commit on its own.
   * @param at.signal aborts when the attempt has no more time; the module then ends the session at the server
   * @param at.timeoutMs how long the transaction may take in any case, in milliseconds: for layers with a timeout of
   *   their own
   */
  run<T>(work: (tx: Tx) => Promise<T>, at: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<T>;
  /**
   * Sends SQL in the transaction.
   * @param gives whether the caller needs the rows or the number of affected rows; the other may be left empty
   */
  query(
    tx: Tx,
    sql: string,
    values: readonly Scalar[],
    gives: 'rows' | 'count',
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number }>;
}

/** A layer that knows the driver's connection of its transaction, of `pg` or `mysql2`. */
export interface DriverTransactions<Tx = unknown> extends PaymentTransactions<Tx> {
  /**
   * The driver's connection of the transaction. The module sends its own statements on this connection, and ends the
   * session at the server if the attempt runs out of time. On MariaDB, autocommit is off until the transaction ends.
   */
  connectionOf(tx: Tx): Connection;
  /**
   * From now on, `tx` refuses everything except what ends the transaction. Once this has resolved, statements under way
   * end before any later one runs; it may reject if the work continued after it returned.
   */
  close(tx: Tx): Promise<void>;
}

export function isOfDriver<Tx>(layer: PaymentTransactions<Tx>): layer is DriverTransactions<Tx> {
  return 'connectionOf' in layer;
}
