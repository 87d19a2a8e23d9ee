import { Injectable } from '@nestjs/common';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { DestroyableTransaction } from '../destroyable-transaction.js';
import type { Transaction, TransactionOptions } from '../transaction.js';
import { runUnlessFailed } from './failed-statements.js';
import { pgClientOf, removeFromPool } from './pg-connection.js';
import { endedAfter, type PostgresDatabase } from './postgres.database.js';

@Injectable()
export class PostgresDestroyableTransaction extends DestroyableTransaction {
  constructor(
    private readonly postgres: PostgresDatabase,
    dataSource: DataSource,
  ) {
    super(postgres, dataSource);
  }

  protected override async isolationLevel(): Promise<'READ COMMITTED' | undefined> {
    const { isolationLevel } = this.dataSource.options as { isolationLevel?: string };
    return isolationLevel === undefined && (await this.postgres.isReadCommitted()) ? undefined : 'READ COMMITTED';
  }

  protected override endedAfter(unattendedMs: number): Pick<TransactionOptions, 'start'> {
    return { start: `START TRANSACTION; ${endedAfter(unattendedMs)}` };
  }

  protected override remove(runner: QueryRunner): Promise<void> {
    return removeFromPool(runner);
  }

  protected override whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    return runUnlessFailed(transaction, pgClientOf(connection), work, options);
  }
}
