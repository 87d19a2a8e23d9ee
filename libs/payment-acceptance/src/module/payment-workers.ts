import { Inject, Injectable } from '@nestjs/common';
import { WakeUps, type WakeUp } from '../common/wake-ups.js';
import { PAYMENT_ROLE, type PaymentAcceptanceExtras } from '../config/extras.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { Signals } from '../database/signals.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { RetentionWorker } from '../retention/retention.worker.js';
import { BillInquiry } from '../settlement/bill-inquiry.js';
import { Confirmer } from '../settlement/confirmer.js';

/** One of the {@link PaymentWorkers}. */
export interface PaymentWorker {
  /**
   * Processes what is due now, once. Works whether or not the worker was started.
   * @returns how many items were processed
   */
  runOnce(): Promise<number>;
  /** Starts polling. Does nothing after {@link stop}. */
  start(): void;
  /** Stops for good: starts no new work, and waits a bounded time for running work to end. */
  stop(): Promise<void>;
}

/**
 * The workers of this instance. They start by themselves when the application listens, so that every
 * `onApplicationBootstrap` hook has ended; in a process without an HTTP server, they start with the application if its
 * role is `workers`. In all other cases, call `start()`: after `app.init()` without `app.listen()`, in a context with
 * another role, or with the option `autoStart: false`.
 */
@Injectable()
export class PaymentWorkers {
  /** Asks the service about bills that are due, and settles what it lists. */
  readonly checks: PaymentWorker;
  /** Delivers events to their consumers. */
  readonly deliveries: PaymentWorker;
  /** Asks the service about bills that only a postback names. */
  readonly inquiries: PaymentWorker;
  /** Removes records that are older than the option `retention` allows. */
  readonly retention: PaymentWorker;
  private started = false;

  /** @internal */
  constructor(
    private readonly confirmer: Confirmer,
    private readonly deliverer: DeliveryWorker,
    inquiry: BillInquiry,
    retention: RetentionWorker,
    private readonly signals: Signals,
    wakeUps: WakeUps,
    @Inject(PAYMENT_ROLE) private readonly role: NonNullable<PaymentAcceptanceExtras['role']>,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.checks = confirmer;
    this.deliveries = deliverer;
    this.inquiries = inquiry;
    this.retention = retention;
    // Here, so that workers which the application starts alone are woken, too.
    wakeUps.listen((wakeUp) => {
      this.wake(wakeUp);
      signals.notify(wakeUp);
    });
  }

  /**
   * Starts all of them, and the wake-ups between instances. An instance with the role `callbacks` runs no worker, but wakes up
   * those of other instances. Calling it again changes nothing.
   */
  start(): void {
    if (this.started) return;
    this.started = true;
    // Without a signal, instances find each other's work by polling.
    if (this.options.wakeUps === 'listen') this.signals.start((wakeUp) => this.wake(wakeUp));
    if (this.role !== 'callbacks') for (const worker of this.all()) worker.start();
  }

  /** Stops all of them, for good. */
  async stop(): Promise<void> {
    await Promise.all([...this.all(), this.signals].map((part) => part.stop()));
  }

  private wake(wakeUp: WakeUp): void {
    if (this.role === 'callbacks') return;
    if (wakeUp === 'hint') this.confirmer.wake();
    else this.deliverer.wake();
  }

  private all(): PaymentWorker[] {
    return [this.checks, this.inquiries, this.deliveries, this.retention];
  }
}
