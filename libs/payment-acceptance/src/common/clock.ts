import { Injectable } from '@nestjs/common';

/**
 * The only source of time. Leases and schedules use the database's clock; `offsetMs` shifts that clock, too, so that a
 * test can let days pass without sleeping. Replace it with `overrideProvider(PaymentClock)`.
 */
@Injectable()
export class PaymentClock {
  /** How far this clock runs ahead of the machine's and the database's, in milliseconds. Always 0 in production. */
  get offsetMs(): number {
    return 0;
  }

  now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  /** Milliseconds on a clock that never steps, for durations within this process: of pauses, caches and limits. */
  elapsed(): number {
    return performance.now() + this.offsetMs;
  }
}

/** A clock for tests: runs ahead of the real one by as much as the test says. */
export class ManualPaymentClock extends PaymentClock {
  private ahead = 0;
  private steppedMs = 0;

  override get offsetMs(): number {
    return this.ahead;
  }

  /** Moves the clock forward by whole milliseconds. */
  advance(ms: number): void {
    this.ahead += ms;
  }

  /**
   * Simulates a step of the machine's clock, as by NTP or in a resumed virtual machine; the database's clock and
   * durations are not affected.
   */
  step(ms: number): void {
    this.steppedMs += ms;
  }

  override now(): Date {
    return new Date(super.now().getTime() + this.steppedMs);
  }
}
