/** Has the name and shape of TypeORM's error, which applications without TypeORM lack. */
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

/** Whether the error is a `QueryFailedError`, ours or TypeORM's. */
export function isQueryFailure(error: unknown): error is QueryFailedError {
  return error instanceof Error && error.name === 'QueryFailedError' && 'driverError' in error;
}
