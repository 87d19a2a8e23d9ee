import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DestroyableTransaction, STATEMENT_FAILED } from '../destroyable-transaction.js';
import type { Transaction, TransactionOptions } from '../transaction.js';

/**
 * A deadlock undoes the whole transaction, and what its work does after that would commit statement by statement. So the
 * connection commits nothing by itself while it lasts, and work that swallowed a failure is undone, as on PostgreSQL.
 */
@Injectable()
export class MariaDestroyableTransaction extends DestroyableTransaction {
  protected override whole(
    transaction: Transaction,
    _connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    const check = (): void => {
      if (transaction.hasFailed) throw new Error(STATEMENT_FAILED);
    };
    const { before = '', after = '' } = options;
    return transaction.run(work, {
      ...options,
      check,
      before: `${before}, autocommit = 0`,
      after: `${after}, autocommit = 1`,
    });
  }
}
