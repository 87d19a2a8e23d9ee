import { Injectable } from '@nestjs/common';
import { and, eq } from 'drizzle-orm';
import {
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { orders, type Tx } from './database.js';

@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { tx }: PaymentEventContext<Tx>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = and(eq(orders.id, id), eq(orders.amount, amount), eq(orders.currency, currency));
    const pending = and(order, eq(orders.status, 'pending'));
    const { rowCount } = await tx.update(orders).set({ status: 'paid' }).where(pending);
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    const note = `Payment ${paymentId}`;
    if (!rowCount) requireOrder(event, await tx.update(orders).set({ note }).where(order));
  }
}
