/** What a driver tells of a failed statement by a code; MariaDB adds numbers. */
export interface DriverCodes {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly sqlState?: unknown;
}

/**
 * Has the name of TypeORM's error, which applications without TypeORM lack, but neither the parameters of the statement
 * nor what the driver quotes of the row: they may be personal data, and whoever logs the error would log them.
 */
export class QueryFailedError extends Error {
  override readonly name = 'QueryFailedError';
  readonly code: unknown;
  readonly driverError: DriverCodes;

  constructor(
    readonly query: string,
    error: Error & DriverCodes,
  ) {
    super(String(error).replace(/^(error|Error): /, ''));
    const { code, errno, sqlState } = error;
    this.code = code;
    this.driverError = { code, errno, sqlState };
  }
}

/** Whether the error is a `QueryFailedError`, ours or TypeORM's. */
export function isQueryFailure(error: unknown): error is QueryFailedError {
  return error instanceof Error && error.name === 'QueryFailedError' && 'driverError' in error;
}
