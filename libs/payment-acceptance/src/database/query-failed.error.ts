/**
 * The database has refused a statement. Of the shape, and the name, of TypeORM's error of this name, which applications without
 * TypeORM do not have.
 */
export class QueryFailedError extends Error {
  override readonly name = 'QueryFailedError';

  constructor(
    readonly query: string,
    readonly parameters: readonly unknown[],
    readonly driverError: Error,
  ) {
    super(String(driverError).replace(/^(error|Error): /, ''));
    const { name: _name, message: _message, stack: _stack, ...properties } = driverError;
    Object.assign(this, properties);
  }
}

/** Whether it is such an error, ours or TypeORM's. */
export function isQueryFailure(error: unknown): error is QueryFailedError {
  return error instanceof Error && error.name === 'QueryFailedError' && 'driverError' in error;
}
