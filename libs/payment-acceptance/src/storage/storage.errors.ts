import { describeError, PaymentAcceptanceError } from '../common/errors.js';

/** The data source is of a kind that cannot keep the module's promise. */
export class UnsupportedDataSourceError extends PaymentAcceptanceError {
  readonly code = 'unsupported-data-source';

  /** @param reason what of its server or settings does not fit, where it is not the type itself */
  constructor(type: string, reason?: string) {
    const sqlite = /sqlite|sqljs|expo|capacitor|cordova|react-native|nativescript/.test(type);
    const sentences = [
      `PaymentAcceptanceModule cannot use a data source of type "${type}".`,
      reason,
      sqlite &&
        'All callers of such a data source share one connection, so rows that one has committed vanish when another rolls back.',
      type !== 'postgres' && 'Use PostgreSQL or MariaDB, and name its data source with the option "dataSource".',
    ];
    super(sentences.filter(Boolean).join(' '));
  }
}

/** The driver's connections cannot be ended at once, so a handler that outlives its time limit could still commit. */
export class UndestroyableConnectionError extends PaymentAcceptanceError {
  readonly code = 'undestroyable-connection';

  constructor() {
    super(
      'PaymentAcceptanceModule needs the JavaScript client of "pg", or "mysql2", whose connections it can end at once. TypeORM takes ' +
        'pg-native wherever it is installed: uninstall it, or run this instance with role: "callbacks".',
    );
  }
}

/** The module's tables are behind this release, and the option `migrations` forbids changing them at start. */
export class SchemaBehindError extends PaymentAcceptanceError {
  readonly code = 'schema-behind';

  constructor(present: number, needed: number) {
    super(
      `The tables of PaymentAcceptanceModule are at version ${present}, this release needs ${needed}. ` +
        'Call migratePaymentAcceptance(dataSource) in your deployment before the start, or set migrations: "run".',
    );
  }
}

/** A statement of the module took longer than it may, and its connection was closed. */
export class StatementTimeoutError extends PaymentAcceptanceError {
  readonly code = 'statement-timeout';

  constructor(limitMs: number) {
    super(
      `The database did not answer a statement within ${limitMs} ms, so its connection was closed. Look for locks on the ` +
        'tables of PaymentAcceptanceModule, and whether the server is there. Where it only needs longer, raise statementTimeoutMs.',
    );
  }
}

/** The host's pool had no connection for a statement of the module, which therefore was not sent. */
export class PoolExhaustedError extends PaymentAcceptanceError {
  readonly code = 'pool-exhausted';

  /** @internal */
  static within(limitMs: number): PoolExhaustedError {
    return new PoolExhaustedError(
      `The data source's pool gave no connection within ${limitMs} ms, so nothing was sent. Where the database is well, the ` +
        'pool is too small for all who use it, or somebody does not give connections back: raise its size (poolSize), or ' +
        'look for transactions that stay open.',
    );
  }

  /** @internal */
  static byOverdueStatements(count: number): PoolExhaustedError {
    return new PoolExhaustedError(
      `The database does not answer ${count} statements of PaymentAcceptanceModule, which hold half of the pool or more, so ` +
        'no further one was sent. Look for locks on its tables, and whether the server is there.',
    );
  }
}

/** The server takes no writes: a standby, or a primary that has been demoted. */
export class ReadOnlyDatabaseError extends PaymentAcceptanceError {
  readonly code = 'read-only-database';

  constructor() {
    super(
      'The database is read-only, so nothing can be stored. Where a standby has become the primary, have the address that the ' +
        'data source names lead there; a new connection is tried each time.',
    );
  }
}

/** No connection came for a handler, which therefore has not begun. */
export class NoConnectionError extends PaymentAcceptanceError {
  readonly code = 'no-connection';

  constructor(reason: unknown) {
    super(
      `The data source gave no connection. ${describeError(reason)} Where the database is well, the pool is too small for all ` +
        'who use it: raise its size (poolSize), or lower deliveries.concurrency.',
    );
  }
}
