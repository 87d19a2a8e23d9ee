import { Inject, Injectable } from '@nestjs/common';
import { type Clock, isoTime, systemClock } from '../common/clock.js';
import type { Instant } from '../model/entities.js';
import { type PaymentSandboxOptions, SANDBOX_OPTIONS } from '../model/options.js';
import { SandboxStore } from './store.js';

/** The sandbox's own time: the given clock plus what `POST /sandbox/clock` added. */
@Injectable()
export class SandboxClock implements Clock {
  private readonly base: Clock;

  constructor(
    private readonly store: SandboxStore,
    @Inject(SANDBOX_OPTIONS) options: PaymentSandboxOptions,
  ) {
    this.base = options.clock ?? systemClock;
  }

  now(): number {
    return this.base.now() + this.store.clockOffsetMs;
  }

  /** The present instant, or `ms` later. */
  instant(ms = 0): Instant {
    return isoTime(this.now() + ms);
  }

  /** Moves the clock on to `instant`; it never goes back. */
  moveTo(instant: number): void {
    const step = instant - this.now();
    if (step > 0) this.store.commit({ clockOffsetMs: this.store.clockOffsetMs + step });
  }
}
