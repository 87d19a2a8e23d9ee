/** Lets work with the same key take turns within the process; waiting costs nothing. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<void>>();

  /**
   * Does the work once the work before it with the same key has settled.
   * @returns `undefined` if that takes longer than `waitMs` or the signal aborts first: the work is then not begun
   */
  async run<T extends object>(
    key: string,
    work: () => Promise<T>,
    waitMs: number,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const before = this.last.get(key);
    let end = (): void => undefined;
    const ownTurn = new Promise<void>((resolve) => (end = resolve));
    // A caller that gives up passes its turn on when the turn comes.
    const tail = before ? before.then(() => ownTurn) : ownTurn;
    this.last.set(key, tail);
    try {
      if (before && !(await settlesInTime(before, waitMs, signal))) return undefined;
      return await work();
    } finally {
      end();
      void tail.then(() => {
        if (this.last.get(key) === tail) this.last.delete(key);
      });
    }
  }
}

function settlesInTime(work: Promise<void>, waitMs: number, signal: AbortSignal | undefined): Promise<boolean> {
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
