import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DestroyableTransaction } from '../destroyable-transaction.js';
import type { Transaction, TransactionOptions } from '../transaction.js';
import { runUnlessFailed } from './failed-statements.js';

@Injectable()
export class MariaDestroyableTransaction extends DestroyableTransaction {
  protected override whole(
    transaction: Transaction,
    _connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    return runUnlessFailed(transaction, work, options);
  }
}
