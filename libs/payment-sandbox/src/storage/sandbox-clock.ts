import { Inject, Injectable } from '@nestjs/common';
import { type Clock, isoTime } from '../common/time.js';
import type { Instant } from '../model/entities.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxStore } from './store.js';

/** The given clock plus what `POST /sandbox/clock` added. */
@Injectable()
export class SandboxClock implements Clock {
  private readonly base: Clock;

  constructor(
    private readonly store: SandboxStore,
    @Inject(SANDBOX_OPTIONS) options: PaymentSandboxOptions,
  ) {
    this.base = options.clock ?? { now: () => Date.now() };
  }

  now(): number {
    return this.base.now() + this.store.clockOffsetMs;
  }

  instant(ms = 0): Instant {
    return isoTime(this.now() + ms);
  }

  /** The clock never goes back. */
  moveTo(instant: number): void {
    const step = instant - this.now();
    if (step > 0) this.store.commit({ clockOffsetMs: this.store.clockOffsetMs + step });
  }
}
