import { Injectable } from '@nestjs/common';
import type { Transaction } from 'kysely';
import {
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import type { Schema } from './database.js';

@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { tx }: PaymentEventContext<Transaction<Schema>>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = tx
      .updateTable('orders')
      .where('id', '=', id)
      .where('amount', '=', amount)
      .where('currency', '=', currency);
    const { numUpdatedRows } = await order.where('status', '=', 'pending').set({ status: 'paid' }).executeTakeFirst();
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    const noted = order.set({ note: `Payment ${paymentId}` });
    if (numUpdatedRows === 0n) requireOrder(event, await noted.executeTakeFirst());
  }
}
