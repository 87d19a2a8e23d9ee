import type { DataSource, EntityManager } from 'typeorm';
import type { Connection } from './connection-source.js';
import type { Database } from './database.js';
import { statementRefused } from './database.errors.js';
import { guardConnection } from './guarded-connection.js';
import { idleTimeoutSettings } from './mariadb/maria.database.js';
import { runUnlessFailed } from './mariadb/failed-statements.js';
import type { DriverTransactions, PaymentTransactions, PaymentTransactionsPool } from './payment-transactions.js';
import { hostPool } from './pool.js';
import { removeFromPool } from './postgres/pg-connection.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { Transaction } from './transaction.js';

type Limits = Parameters<PaymentTransactions['run']>[1];

/** How far START TRANSACTION, COMMIT and ROLLBACK may exceed the limit before the connection is closed. */
const GRACE_MS = 2_000;

export class TypeOrmTransactions implements DriverTransactions<EntityManager> {
  readonly placeholders = '$1';
  readonly pool: PaymentTransactionsPool;
  private readonly begun = new WeakMap<EntityManager, { transaction: Transaction; connection: Connection }>();

  constructor(
    private readonly database: Database,
    private readonly dataSource: DataSource,
  ) {
    this.pool = hostPool(dataSource, () => database.connections.statementTimeoutMs);
  }

  async run<T>(work: (manager: EntityManager) => Promise<T>, { timeoutMs }: Limits): Promise<T> {
    const { database, dataSource } = this;
    const isPostgres = database instanceof PostgresDatabase;
    const level = isPostgres && (await this.isReadCommitted(database)) ? undefined : 'READ COMMITTED';
    const runner = dataSource.createQueryRunner();
    const connection = (await runner.connect()) as Connection;
    const transaction = new Transaction(dataSource, runner, (text) => database.send(connection, text));
    let isOver = false;
    guardConnection(dataSource, runner, () => isOver);
    const isBusy = (): boolean => database.isBusy(connection);
    const inside = (manager: EntityManager): Promise<T> => {
      this.begun.set(manager, { transaction, connection });
      return work(manager);
    };
    const options = { level, isBusy, timeoutMs: timeoutMs + GRACE_MS } as const;
    try {
      if (isPostgres) return await transaction.run(inside, options);
      const { before, after } = idleTimeoutSettings(timeoutMs);
      return await runUnlessFailed(transaction, inside, { ...options, before: `SET ${before}`, after: `SET ${after}` });
    } finally {
      // After its release, the connection belongs to another caller.
      isOver = true;
      // A statement that a handler has sent past its manager may be under way even now.
      if (!transaction.isOver || isBusy()) {
        await database.destroy(connection);
        if (isPostgres) await removeFromPool(runner);
      }
      await runner.release();
    }
  }

  async query(manager: EntityManager, text: string, values: readonly unknown[]) {
    const rows: unknown = await manager.query(text, [...values]);
    return Array.isArray(rows) ? { rows, rowCount: rows.length } : { rows: [], rowCount: 0 };
  }

  connectionOf(manager: EntityManager): Connection {
    return this.ownOf(manager).connection;
  }

  close(manager: EntityManager): Promise<void> {
    return this.ownOf(manager).transaction.drain();
  }

  private ownOf(manager: EntityManager) {
    const begunTransaction = this.begun.get(manager);
    if (!begunTransaction) throw statementRefused();
    return begunTransaction;
  }

  /** Whether the level is READ COMMITTED already: setting it would cost a statement. */
  private async isReadCommitted(postgres: PostgresDatabase): Promise<boolean> {
    const { isolationLevel } = this.dataSource.options as { isolationLevel?: string };
    return isolationLevel === undefined && (await postgres.isReadCommitted());
  }
}
