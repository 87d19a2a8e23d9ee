import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DestroyableTransaction } from '../destroyable-transaction.js';
import type { Transaction, TransactionOptions } from '../transaction.js';
import { runUnlessFailed } from './failed-statements.js';
import { pgClientOf } from './pg-connection.js';

@Injectable()
export class PostgresDestroyableTransaction extends DestroyableTransaction {
  protected override whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    return runUnlessFailed(transaction, pgClientOf(connection), work, options);
  }
}
