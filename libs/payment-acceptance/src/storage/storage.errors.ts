import { PaymentAcceptanceError } from '../common/errors.js';

/** The data source is of a kind that cannot keep the module's promise. */
export class UnsupportedDataSourceError extends PaymentAcceptanceError {
  readonly code = 'unsupported-data-source';

  /** @param reason what of its server or settings does not fit, where it is not the type itself */
  constructor(type: string, reason?: string) {
    const sqlite = /sqlite|sqljs|expo|capacitor|cordova|react-native|nativescript/.test(type);
    super(
      `PaymentAcceptanceModule cannot use a data source of type "${type}". ` +
        (reason !== undefined ? `${reason} ` : '') +
        (sqlite
          ? 'All callers of such a data source share one connection, so rows that one has committed vanish when another rolls back. '
          : '') +
        'Use PostgreSQL or MariaDB, and name its data source with the option "dataSource".',
    );
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
