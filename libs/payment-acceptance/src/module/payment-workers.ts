import { Injectable } from '@nestjs/common';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { RetentionWorker } from '../operations/retention.worker.js';
import { BillInquiry } from '../settlement/bill-inquiry.js';
import { Confirmer } from '../settlement/confirmer.js';

/** One of the {@link PaymentWorkers}. */
export interface PaymentWorker {
  /** One round, of what is due now; gives the number of things done. Works whether or not the worker was started. */
  runOnce(): Promise<number>;
  /** Works by itself from now on. */
  start(): void;
  /** Ends what is going on, within a bounded time, and begins nothing more. */
  stop(): Promise<void>;
}

/**
 * The workers of this instance, by what they do. They start with the application; with the option `autoStart: false` a test,
 * or a job with a pace of its own, drives them.
 */
@Injectable()
export class PaymentWorkers {
  /** Asks the service about bills that are due, and settles what it lists. */
  readonly checks: PaymentWorker;
  /** Hands events to their consumers. */
  readonly deliveries: PaymentWorker;
  /** Asks the service for bills that only a postback names. */
  readonly inquiries: PaymentWorker;
  /** Removes what is older than the option `retention` keeps. */
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
