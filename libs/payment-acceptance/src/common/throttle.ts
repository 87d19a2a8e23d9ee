import type { PaymentClock } from './clock.js';

/** Lets work pass at the first time, and then again after a pause. */
export class Throttle {
  private lastAt = -Infinity;

  constructor(
    private readonly clock: PaymentClock,
    private readonly pauseMs: number,
  ) {}

  /** Takes the turn where it is one: the work is then to be done. */
  tryTake(): boolean {
    const now = this.clock.now().getTime();
    // A clock that was set back shall not put it off.
    if (now >= this.lastAt && now - this.lastAt < this.pauseMs) return false;
    this.lastAt = now;
    return true;
  }

  /** Begins the pause: the work was done otherwise. */
  restart(): void {
    this.lastAt = this.clock.now().getTime();
  }
}
