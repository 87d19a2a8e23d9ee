import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PostbacksService } from '../callbacks/postbacks.service.js';
import { SandboxClock } from '../storage/sandbox-clock.js';
import { SandboxStore } from '../storage/store.js';
import { PaymentsService } from './payments.service.js';

const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Carries out what is due: planned payment statuses and attempts to deliver postbacks. What is due follows from the
 * stored state alone, so a restart continues where a kill left off.
 */
@Injectable()
export class Timetable implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private rearming: NodeJS.Immediate | undefined;
  private advancing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: SandboxStore,
    private readonly clock: SandboxClock,
    private readonly payments: PaymentsService,
    private readonly postbacks: PostbacksService,
  ) {}

  onApplicationBootstrap(): void {
    const rearm = (): void => {
      // Arms the timer once per turn of the event loop, however many commits there are.
      this.rearming ??= setImmediate(() => this.arm()).unref();
    };
    this.store.onCommit(rearm);
    this.postbacks.onEnded(rearm);
    this.arm();
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.postbacks.close();
    await this.store.close();
  }

  /** Resolves when everything due by the sandbox's clock is done and every attempt has its answer. */
  async settled(): Promise<void> {
    while (!this.closed) {
      this.runDue();
      const underWay = this.postbacks.attemptsInFlight();
      if (underWay.length === 0) return;
      await Promise.all(underWay);
    }
  }

  /**
   * Stops whenever something is due until it is done: after three days by this clock, everything has happened that
   * would happen in three days.
   */
  advance(ms: number): Promise<void> {
    const advanced = this.advancing.then(() => this.advanceTo(this.clock.now() + ms));
    this.advancing = advanced.catch(() => undefined);
    return advanced;
  }

  private async advanceTo(target: number): Promise<void> {
    await this.settled();
    for (let next = this.nextDueAt(); next !== undefined && next <= target && !this.closed; next = this.nextDueAt()) {
      this.clock.moveTo(next);
      await this.settled();
    }
    this.clock.moveTo(target);
    await this.settled();
  }

  private runDue(): void {
    this.payments.advanceDue();
    this.postbacks.startDue();
  }

  private nextDueAt(): number | undefined {
    const dueTimes = [this.payments.nextDueAt(), this.postbacks.nextDueAt()].filter((due) => due !== undefined);
    return dueTimes.length === 0 ? undefined : Math.min(...dueTimes);
  }

  private arm(): void {
    this.rearming = undefined;
    clearTimeout(this.timer);
    const next = this.nextDueAt();
    if (next === undefined || this.closed) return;
    const wait = Math.min(Math.max(next - this.clock.now(), 0), MAX_TIMER_MS);
    // The timer must not keep the process alive.
    this.timer = setTimeout(() => {
      this.runDue();
      this.arm();
    }, wait).unref();
  }
}
