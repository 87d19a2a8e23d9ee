import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Effect } from '../../support/harness.js';
import type { EntityManager } from 'typeorm';

export type OutcomeEvent = PaymentSucceededEvent | PaymentFailedEvent;

/** Observes and controls the handlers of one application, which is named after its shops. */
export class Desk {
  /** How often the durable handler still fails. */
  failures = 0;

  constructor(
    readonly application: string,
    readonly saw: (application: string, event: OutcomeEvent) => void,
    readonly publish: (event: OutcomeEvent) => void,
  ) {}
}

@Injectable()
export class Handlers {
  constructor(private readonly desk: Desk) {}

  /** The same consumer in all applications. */
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(event: OutcomeEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    this.desk.saw(this.desk.application, event);
    await writeEffect(manager, 'orders', event);
    if (this.desk.failures === 0) return;
    this.desk.failures -= 1;
    throw new Error('The handler fails for the test.');
  }

  @OnEvent('payment.succeeded')
  @OnEvent('payment.failed')
  listen(event: OutcomeEvent): void {
    this.desk.saw(this.desk.application, event);
    this.desk.publish(event);
  }
}

export async function writeEffect(
  manager: PaymentEventContext<EntityManager>['manager'],
  consumer: string,
  event: OutcomeEvent,
): Promise<void> {
  await manager.insert(Effect, { consumer, event: event.id, paymentId: event.paymentId, orderId: event.orderId });
}
