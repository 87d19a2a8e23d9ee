/**
 * Counts work in flight. A count rather than a `Set`: a `Set` that changes constantly leaves a chain of old tables
 * behind, which keeps ended work in memory until a full garbage collection.
 */
export class InFlight {
  private count = 0;
  private readonly waiting: (() => void)[] = [];

  get size(): number {
    return this.count;
  }

  async track<R>(work: Promise<R>): Promise<R> {
    this.count += 1;
    try {
      return await work;
    } finally {
      this.count -= 1;
      if (this.count === 0) for (const done of this.waiting.splice(0)) done();
    }
  }

  /** Resolves once nothing is in flight, whether work succeeded or failed. */
  idle(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((done) => this.waiting.push(done));
  }
}
