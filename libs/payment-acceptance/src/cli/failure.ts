import { QueryFailedError } from '../database/query-failed.error.js';
import { describeError, PaymentAcceptanceError } from '../common/errors.js';
import { TimeoutError } from '../common/timeout.js';
import { PaymentConfigurationError, PaymentUnknownShopError } from '../config/configuration.error.js';
import { PaymentSchemaBehindError, PaymentUnsupportedDataSourceError } from '../database/database.errors.js';
import { UsageError } from './arguments.js';

/** How a command failed, as text and `--json` both report it. The message says what to do. */
export interface Failure {
  /** Stable name: the code of the module's error, else `database-error`, `timeout` or `unexpected`. */
  readonly code: string;
  readonly message: string;
  /** 2 if the command line or the configuration is wrong, otherwise 1. */
  readonly exitCode: 1 | 2;
}

/** There is no server, or the server refuses. */
export class DatabaseUnreachableError extends PaymentAcceptanceError {
  readonly code = 'database-unreachable';

  constructor(reason: unknown) {
    super(
      `The database cannot be reached: ${describeError(reason)}. Start it, or correct DATABASE_URL or the data source.`,
    );
  }
}

export class MissingPackageError extends PaymentAcceptanceError {
  readonly code = 'missing-package';

  constructor(reason: string) {
    super(`${reason.split('\n')[0]}. Run payment-acceptance init.`);
  }
}

const USAGE_ERRORS = [
  UsageError,
  MissingPackageError,
  PaymentConfigurationError,
  PaymentUnknownShopError,
  PaymentSchemaBehindError,
  PaymentUnsupportedDataSourceError,
];

export function failureOf(error: unknown): Failure {
  if (!(error instanceof PaymentAcceptanceError))
    return { code: codeOfOther(error), message: describeError(error), exitCode: 1 };
  const isUsage = USAGE_ERRORS.some((type) => error instanceof type);
  return { code: error.code, message: error.message, exitCode: isUsage ? 2 : 1 };
}

function codeOfOther(error: unknown): string {
  if (error instanceof TimeoutError) return 'timeout';
  return error instanceof QueryFailedError ? 'database-error' : 'unexpected';
}
