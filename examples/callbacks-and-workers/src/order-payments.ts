import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Order } from './order.entity.js';
import type { EntityManager } from 'typeorm';

@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { affected } = await manager.update(Order, { ...order, status: 'pending' }, { status: 'paid' });
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    if (!affected) requireOrder(event, await manager.update(Order, order, { note: `Payment ${paymentId}` }));
  }
}
