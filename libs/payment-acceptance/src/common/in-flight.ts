/**
 * How much is under way, and when it has ended. A count and no `Set`: one that changes all the time leaves tables behind of
 * which each holds on to the next, and so what has ended to memory, until all of that is searched through.
 */
export class InFlight {
  private count = 0;
  private readonly waiting: (() => void)[] = [];

  get size(): number {
    return this.count;
  }

  /** Counts the work until it ends, and ends as it does. */
  async track<R>(work: Promise<R>): Promise<R> {
    this.count += 1;
    try {
      return await work;
    } finally {
      this.count -= 1;
      if (this.count === 0) for (const done of this.waiting.splice(0)) done();
    }
  }

  /** Resolves as soon as nothing is under way, however it has ended. */
  idle(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((done) => this.waiting.push(done));
  }
}
