import type { Connection } from './connection-source.js';
import { Queryable, type Answer } from './queryable.js';
import type { Statement } from './statement.js';

interface TransactionSender {
  runIn(transaction: OwnTransaction, statement: Statement, timeoutMs?: number): Promise<Answer>;
}

/** A connection that several statements of the module share, in a transaction or while it holds a lock. */
export class OwnTransaction extends Queryable {
  /** Once true, the connection may belong to another caller, and takes no further statement from here. */
  isOver = false;
  running = 0;
  isPipelined = false;
  /** Resolves when the transaction has begun; if statements are pipelined, its first ones may be sent before that. */
  begun: Promise<void> = Promise.resolve();

  /** @param tx what the handler is given, if a data layer has begun the transaction for it */
  constructor(
    private readonly sender: TransactionSender,
    readonly connection: Connection,
    readonly tx?: unknown,
  ) {
    super();
  }

  override run(statement: Statement, _gives: 'rows' | 'count', timeoutMs?: number): Promise<Answer> {
    return this.sender.runIn(this, statement, timeoutMs);
  }
}
