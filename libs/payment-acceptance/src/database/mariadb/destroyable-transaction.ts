import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DestroyableTransaction } from '../destroyable-transaction.js';
import type { Transaction, TransactionOptions } from '../transaction.js';
import { runUnlessFailed } from './failed-statements.js';
import { endedAfter } from './maria.database.js';

@Injectable()
export class MariaDestroyableTransaction extends DestroyableTransaction {
  /** Set for each transaction: the default of one session says nothing about the pool's other connections. */
  protected override isolationLevel(): Promise<'READ COMMITTED'> {
    return Promise.resolve('READ COMMITTED');
  }

  protected override endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'after'> {
    const { before, after } = endedAfter(unattendedMs);
    return { before: `SET ${before}`, after: `SET ${after}` };
  }

  protected override remove(): Promise<void> {
    return Promise.resolve();
  }

  protected override whole(
    transaction: Transaction,
    _connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    return runUnlessFailed(transaction, work, options);
  }
}
