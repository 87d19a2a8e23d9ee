/** Work did not end in time. */
export class TimeoutError extends Error {
  override readonly name: string = 'TimeoutError';
}

/** Awaits work for at most `limitMs` milliseconds. Work that takes longer is not cancelled. */
export async function withTimeout<T>(limitMs: number, work: Promise<T>, what = 'The database'): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`${what} did not answer within ${limitMs} ms.`)), limitMs);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
