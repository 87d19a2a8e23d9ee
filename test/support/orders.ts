import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Effect } from './harness.js';
import type { EntityManager } from 'typeorm';

/** A host's durable handler: writes one row per event. */
@Injectable()
export class EffectWriter {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}
