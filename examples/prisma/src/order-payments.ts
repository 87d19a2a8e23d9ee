import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import type { Prisma } from './generated/prisma/client.js';

@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { tx }: PaymentEventContext<Prisma.TransactionClient>): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { count } = await tx.order.updateMany({ where: { ...order, status: 'pending' }, data: { status: 'paid' } });
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    const noted = { where: order, data: { note: `Payment ${paymentId}` } };
    if (count === 0) requireOrder(event, await tx.order.updateMany(noted));
  }
}
