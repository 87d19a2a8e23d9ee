/** Why a call to the sandbox was refused. Over HTTP, the response has this status and message. */
export class SandboxError extends Error {
  constructor(
    /**
     * 400: the call is wrong. 403: its origin is not allowed. 404: it names something that does not exist. 409: the
     * state does not allow it.
     */
    readonly status: 400 | 403 | 404 | 409,
    message: string,
  ) {
    super(message);
    this.name = 'SandboxError';
  }
}

/** @throws SandboxError if there is no value */
export function found<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new SandboxError(404, message);
  return value;
}
