import { describeError, PaymentAcceptanceError } from '../common/errors.js';

/** The data source is of a kind that cannot guarantee what the module promises. */
export class PaymentUnsupportedDataSourceError extends PaymentAcceptanceError {
  readonly code = 'unsupported-data-source';

  /** @param reason what is wrong with its server or settings, if the problem is not the type itself */
  constructor(type: string, reason?: string) {
    const sqlite = /sqlite|sqljs|expo|capacitor|cordova|react-native|nativescript/.test(type);
    const sentences = [
      `PaymentAcceptanceModule cannot use a data source of type "${type}".`,
      reason,
      sqlite &&
        'All callers share one connection, so rows that one of them committed are lost when another rolls back.',
      type !== 'postgres' && 'Use PostgreSQL or MariaDB, and select its data source with the option "dataSource".',
    ];
    super(sentences.filter(Boolean).join(' '));
  }
}

/** The driver's connections cannot be destroyed, so a handler that exceeds its timeout could still commit. */
export class UndestroyableConnectionError extends PaymentAcceptanceError {
  readonly code = 'undestroyable-connection';

  constructor() {
    super(
      'PaymentAcceptanceModule needs "mysql2" or the JavaScript client of "pg", whose connections it can destroy. TypeORM ' +
        'uses pg-native if it is installed: uninstall it, or run this instance with role: "callbacks".',
    );
  }
}

/** The module's tables are older than this release needs, and the option `migrations` forbids migrating at start. */
export class PaymentSchemaBehindError extends PaymentAcceptanceError {
  readonly code = 'schema-behind';

  constructor(present: number, needed: number) {
    super(
      `The tables of PaymentAcceptanceModule are at version ${present}, but this release needs ${needed}. ` +
        'Before the application starts, run npx payment-acceptance migrate, or call migratePaymentAcceptance(dataSource); ' +
        'or set migrations: "run".',
    );
  }
}

/** A statement of the module timed out, and its connection was closed. */
export class PaymentStatementTimeoutError extends PaymentAcceptanceError {
  readonly code = 'statement-timeout';

  constructor(timeoutMs: number) {
    super(
      `The database did not answer a statement within ${timeoutMs} ms, so its connection was closed. Look for locks on the ` +
        'tables of PaymentAcceptanceModule, and check that the server is reachable. If it simply needs more time, raise ' +
        'statementTimeoutMs.',
    );
  }
}

/** There was no connection for a statement of the module, which was therefore not sent. */
export class PaymentPoolExhaustedError extends PaymentAcceptanceError {
  readonly code = 'pool-exhausted';

  /** @internal */
  static within(timeoutMs: number, size: number): PaymentPoolExhaustedError {
    return new PaymentPoolExhaustedError(
      `None of the ${size} connections of PaymentAcceptanceModule became free within ${timeoutMs} ms, so the statement was not sent. ` +
        'Look for locks on its tables, and check that the server is reachable. If the database is healthy, raise ' +
        'storage.connections, or the size of the pool in storage.pool.',
    );
  }

  /** @internal */
  static byServer(reason: unknown): PaymentPoolExhaustedError {
    return new PaymentPoolExhaustedError(
      'The server has no connections left for PaymentAcceptanceModule, which opens up to storage.connections of its own (4 by ' +
        `default) plus one that listens. ${describeError(reason)} Raise max_connections on the server, or shrink the pools.`,
    );
  }
}

/** The server is read-only: a standby, or a demoted primary. */
export class PaymentReadOnlyDatabaseError extends PaymentAcceptanceError {
  readonly code = 'read-only-database';

  constructor() {
    super(
      'The database is read-only, so nothing can be stored. If a standby has become the primary, point the ' +
        'data source at it; every attempt opens a new connection.',
    );
  }
}

/**
 * The database could not be reached, or it refused a statement of the module. What the driver said is in the message.
 */
export class PaymentDatabaseError extends PaymentAcceptanceError {
  readonly code = 'database-error';

  constructor(reason: unknown) {
    super(
      `The database does not answer, or it refused a statement. ${describeError(reason)} Check the database, then try again.`,
    );
  }
}

/** A driver's error holds the parameters of the statement, such as `custom`, so it does not leave the module. */
export function throwTyped(error: unknown): never {
  throw error instanceof PaymentAcceptanceError ? error : new PaymentDatabaseError(error);
}

/** There was no connection for a handler, or no transaction could begin on it; the handler therefore did not start. */
export class NoConnectionError extends PaymentAcceptanceError {
  readonly code = 'no-connection';

  /** @param isConnected there was a connection, and the first statement on it failed */
  constructor(reason: unknown, isConnected = false) {
    super(
      isConnected
        ? `The handler's transaction could not start. ${describeError(reason)}`
        : `The data source had no connection. ${describeError(reason)} If the database is healthy, the pool is too small: raise ` +
            'its size (poolSize), or lower deliveries.concurrency.',
    );
  }
}

/** The error for a statement that would run outside the transaction that it was meant for. */
export function statementRefused(): Error {
  return new Error(
    "This manager's transaction has ended, so the statement was rejected. Await everything that a handler does before it " +
      'returns or throws.',
  );
}

export function workContinued(): Error {
  return new Error('The work of the transaction continued after it returned, so it cannot be committed.');
}

export const STATEMENT_FAILED = 'A statement of the transaction has failed, so it cannot be committed.';

/** For a transaction whose work has swallowed the failure of a statement. */
export function refuseFailure(hasFailed: boolean): void {
  if (hasFailed) throw new Error(STATEMENT_FAILED);
}

/** The option `transactions` does not do what {@link PaymentTransactions} requires. */
export class PaymentTransactionsError extends PaymentAcceptanceError {
  readonly code = 'unfit-transactions';

  /** @internal */
  static unusable(reason: unknown): PaymentTransactionsError {
    return new PaymentTransactionsError(
      `A transaction of the option "transactions" cannot be used. ${describeError(reason).replace(/\.?$/, '.')} It must use the ` +
        'database of the option "storage", and its user needs SELECT and UPDATE on the tables of PaymentAcceptanceModule.',
    );
  }

  /** @internal */
  static elsewhere(): PaymentTransactionsError {
    return new PaymentTransactionsError(
      'The option "transactions" points to a different database than the tables of PaymentAcceptanceModule, so writes there cannot ' +
        'commit together with a delivery. Give both the same address, select the data source of the orders with "dataSource", or set ' +
        "handlers: 'at-least-once'.",
    );
  }

  /** @internal */
  static isolated(level: string): PaymentTransactionsError {
    return new PaymentTransactionsError(
      `The option "transactions" starts its transactions at isolation level ${level}: run() must request READ COMMITTED.`,
    );
  }

  /** @internal */
  static uncommitted(): PaymentTransactionsError {
    return new PaymentTransactionsError(
      'The data layer reported a COMMIT, but nothing was committed: a statement that the handler did not await has failed. Await ' +
        'everything that a handler does before it returns, and do not swallow its errors.',
    );
  }
}

/** A handler exceeded its time limit while no statement of its transaction was under way. */
export class HandlerIdleError extends PaymentAcceptanceError {
  readonly code = 'handler-idle';

  constructor(limit: Error) {
    super(
      `${limit.message} The connection was idle in the transaction when the limit ran out: the handler was waiting for something else. ` +
        'If that was a write through another connection (a repository of its own, another data layer) to a row that the transaction ' +
        'has locked, the handler blocked itself and will do so on every attempt: write through the manager or tx that the handler is given. A call to another system needs ' +
        'its own timeout; a handler that needs more time needs a longer deliveries.timeoutMs.',
    );
  }
}

/** The transaction of a handler was ended, or replaced by another one, before the handler had returned. */
export class HandlerTransactionEndedError extends PaymentAcceptanceError {
  readonly code = 'transaction-ended';

  constructor() {
    super(
      "This handler's transaction ended before the handler returned: by a COMMIT or ROLLBACK on its connection, by a " +
        'statement that implies one, such as DDL on MariaDB, or by a deadlock whose error the handler caught. What was written before a ' +
        'COMMIT stays, and the next attempt writes it again. Leave the transaction open: for a part that may fail on its own, use a ' +
        'nested transaction of your data layer, such as manager.transaction().',
    );
  }
}
