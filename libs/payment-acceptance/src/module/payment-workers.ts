import { Injectable } from '@nestjs/common';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { RetentionWorker } from '../retention/retention.worker.js';
import { BillInquiry } from '../settlement/bill-inquiry.js';
import { Confirmer } from '../settlement/confirmer.js';

/** One of the {@link PaymentWorkers}. */
export interface PaymentWorker {
  /** Processes what is due now, once. Works whether or not the worker was started. @returns how many items were processed */
  runOnce(): Promise<number>;
  /** Starts polling. */
  start(): void;
  /** Starts no new work, and waits a bounded time for running work to end. */
  stop(): Promise<void>;
}

/**
 * The workers of this instance. They start with the application. With the option `autoStart: false` a test, or a job with a
 * schedule of its own, runs them.
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

  /** @internal */
  constructor(confirmer: Confirmer, deliveries: DeliveryWorker, inquiry: BillInquiry, retention: RetentionWorker) {
    this.checks = confirmer;
    this.deliveries = deliveries;
    this.inquiries = inquiry;
    this.retention = retention;
  }

  /** All of them. */
  start(): void {
    for (const worker of this.all()) worker.start();
  }

  /** All of them. */
  async stop(): Promise<void> {
    await Promise.all(this.all().map((worker) => worker.stop()));
  }

  private all(): PaymentWorker[] {
    return [this.checks, this.inquiries, this.deliveries, this.retention];
  }
}
