export class TimeoutError extends Error {
  override readonly name: string = 'TimeoutError';
}

/** Awaits work for at most `timeoutMs` milliseconds. Work that takes longer is not cancelled. */
export async function withTimeout<T>(timeoutMs: number, work: Promise<T>, what = 'The database'): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`${what} did not answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
