/** Why a call to the sandbox was refused. Over HTTP it becomes an answer with this status and message. */
export class SandboxError extends Error {
  constructor(
    /** 400: the call is wrong. 403: it comes from where none may. 404: it names something that is not there. 409: the state does not allow it. */
    readonly status: 400 | 403 | 404 | 409,
    message: string,
  ) {
    super(message);
    this.name = 'SandboxError';
  }
}
