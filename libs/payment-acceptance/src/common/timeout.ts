export class TimeoutError extends Error {
  override readonly name: string = 'TimeoutError';
}

/** What a timer of Node.js can wait at most, in milliseconds: it fires at once if told to wait longer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Awaits work for at most `timeoutMs` milliseconds. Work that takes longer is not cancelled. */
export async function withTimeout<T>(timeoutMs: number, work: Promise<T>, what = 'The database'): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    const expire = (): void => reject(new TimeoutError(`${what} did not answer within ${timeoutMs} ms.`));
    timer = setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS));
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
