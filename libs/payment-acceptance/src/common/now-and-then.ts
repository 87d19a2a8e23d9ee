import type { PaymentClock } from './clock.js';

/** Work that is not due each time that somebody looks for work, but at the first time and then after a pause. */
export class NowAndThen {
  private lastAt = -Infinity;

  constructor(
    private readonly clock: PaymentClock,
    private readonly everyMs: number,
  ) {}

  /** Whether it is its turn, which then counts as taken. */
  isDue(): boolean {
    const now = this.clock.now().getTime();
    // A clock that was set back shall not put it off.
    if (now >= this.lastAt && now - this.lastAt < this.everyMs) return false;
    this.lastAt = now;
    return true;
  }
}
