/** Lets work of the same key take turns within the process: who waits costs nothing. */
export class Turns {
  private readonly last = new Map<string, Promise<void>>();

  /**
   * Does the work once that of the key before it has settled.
   * @returns `undefined` if that took longer than `waitMs`, or until the signal aborted: then the work is not begun
   */
  async take<T extends object>(
    key: string,
    work: () => Promise<T>,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const before = this.last.get(key);
    let end = (): void => undefined;
    const own = new Promise<void>((resolve) => (end = resolve));
    // Who gives up passes its turn on when it comes.
    const turn = before ? before.then(() => own) : own;
    this.last.set(key, turn);
    try {
      if (before && !(await settles(before, waitMs, signal))) return undefined;
      return await work();
    } finally {
      end();
      void turn.then(() => {
        if (this.last.get(key) === turn) this.last.delete(key);
      });
    }
  }
}

function settles(work: Promise<void>, waitMs: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      resolve(isSettled);
    };
    const giveUp = (): void => end(false);
    const timer = setTimeout(giveUp, waitMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    void work.then(() => end(true));
  });
}
