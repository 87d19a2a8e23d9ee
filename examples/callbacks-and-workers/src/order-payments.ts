import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Order } from './order.entity.js';

@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { manager }: PaymentEventContext): Promise<void> {
    const { orderId: id, billedAmount: amount, currency } = event;
    requireOrder(event, await manager.update(Order, { id, amount, currency }, { status: 'paid' }));
  }
}
