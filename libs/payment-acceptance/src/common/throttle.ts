import type { PaymentClock } from './clock.js';

export class Throttle {
  private lastAt = -Infinity;

  constructor(
    private readonly clock: PaymentClock,
    private readonly pauseMs: number,
  ) {}

  /** Whether the work is due; if so, the pause starts, and the caller must do the work. */
  tryTake(): boolean {
    const now = this.clock.elapsed();
    if (now - this.lastAt < this.pauseMs) return false;
    this.lastAt = now;
    return true;
  }

  /** Starts the pause, because the work was done some other way. */
  restart(): void {
    this.lastAt = this.clock.elapsed();
  }
}
