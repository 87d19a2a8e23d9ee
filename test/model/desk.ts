import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import {
  OnBillExpired,
  OnPaymentFailed,
  OnPaymentReview,
  OnPaymentSucceeded,
  type PaymentEvent,
  type PaymentEventContext,
} from 'nestjs-payment-acceptance';
import { Effect } from '../support/harness.js';
import type { EntityManager } from 'typeorm';

/** Which events each consumer takes; for `eu-books`, of the shop `eu` only. */
export const CONSUMERS: Readonly<Record<string, readonly string[]>> = {
  orders: ['payment.succeeded', 'payment.failed', 'payment.review', 'bill.expired'],
  'eu-books': ['payment.succeeded'],
  'event-emitter': ['payment.succeeded', 'payment.failed'],
};

/** What the handlers of every instance have in common: whether they work, and what they were given. */
export class Desk {
  /** Ids of the events that a listener has taken. */
  readonly heard = new Set<string>();
  /** How often a consumer has failed on an event. */
  readonly failures = new Map<string, number>();
  private readonly failing = new Map<string, number>();
  private readonly broken = new Set<string>();

  /** The consumer fails the next few times. */
  fail(consumer: string, times: number): void {
    this.failing.set(consumer, times);
  }

  /** The consumer fails on every event of the order. */
  break(consumer: string, orderId: string): void {
    this.broken.add(`${consumer} ${orderId}`);
  }

  mend(consumer: string, orderId: string): void {
    this.broken.delete(`${consumer} ${orderId}`);
  }

  heal(): void {
    this.failing.clear();
    this.broken.clear();
  }

  forget(): void {
    this.heal();
    this.heard.clear();
    this.failures.clear();
  }

  /** Throws where the consumer is to fail now. */
  face(consumer: string, event: PaymentEvent): void {
    const times = this.failing.get(consumer) ?? 0;
    if (times === 0 && !this.broken.has(`${consumer} ${event.orderId}`)) return;
    this.failing.set(consumer, Math.max(0, times - 1));
    const key = `${consumer} ${event.id}`;
    this.failures.set(key, (this.failures.get(key) ?? 0) + 1);
    throw new Error(`"${consumer}" fails for the test`);
  }

  /** A durable handler: writes first and fails then, so that a failed attempt has something to take back. */
  async write(consumer: string, event: PaymentEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const { id, late, orderId } = event;
    await manager.insert(Effect, { consumer, event: id, paymentId: late ? 'late' : 'in order', orderId });
    this.face(consumer, event);
  }
}

@Injectable()
export class Handlers {
  constructor(private readonly desk: Desk) {}

  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  @OnPaymentReview({ consumer: 'orders' })
  @OnBillExpired({ consumer: 'orders' })
  orders(event: PaymentEvent, context: PaymentEventContext<EntityManager>): Promise<void> {
    return this.desk.write('orders', event, context);
  }

  @OnEvent('payment.succeeded')
  @OnEvent('payment.failed')
  listen(event: PaymentEvent): void {
    this.desk.face('event-emitter', event);
    this.desk.heard.add(event.id);
  }
}

/** Code that a release adds, and another one removes. */
@Injectable()
export class Books {
  constructor(private readonly desk: Desk) {}

  @OnPaymentSucceeded({ consumer: 'eu-books', shops: ['eu'] })
  books(event: PaymentEvent, context: PaymentEventContext<EntityManager>): Promise<void> {
    return this.desk.write('eu-books', event, context);
  }
}
