import { Injectable } from '@nestjs/common';
import {
  compareAmounts,
  OnPaymentFailed,
  OnPaymentSucceeded,
  OrderNotFoundError,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import type { EntityManager } from 'typeorm';
import { OrderEvent } from './order-event.entity.js';
import { Order } from './order.entity.js';

/**
 * Updates orders from the payment events. What is written through the given manager commits together with the mark
 * that the event was taken: exactly once, however often a handler is called.
 */
@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async markPaid(event: PaymentSucceededEvent, { manager }: PaymentEventContext): Promise<void> {
    const order = await this.record(event, manager);
    if (order.status === 'paid') return;
    // The bill was for what the order cost when it was made. An order that has changed since is a person's business.
    if (event.currency !== order.currency || compareAmounts(event.amount, order.amount) < 0) {
      order.note = `Paid ${event.amount} ${event.currency}, but it costs ${order.amount} ${order.currency}.`;
    } else {
      order.status = 'paid';
      order.paidAmount = event.amount;
    }
    await manager.save(order);
  }

  /** A failure says nothing about other payments: a paid order stays paid. */
  @OnPaymentFailed({ consumer: 'orders' })
  async markNotPaid(event: PaymentFailedEvent, { manager }: PaymentEventContext): Promise<void> {
    const order = await this.record(event, manager);
    if (order.status === 'paid') return;
    order.status = 'not_paid';
    await manager.save(order);
  }

  /** Locks the order, so that two events never work on the same old state, and notes the event. */
  private async record(event: PaymentSucceededEvent | PaymentFailedEvent, manager: EntityManager): Promise<Order> {
    const order = await manager.findOne(Order, { where: { id: event.orderId }, lock: { mode: 'pessimistic_write' } });
    // After a restore it may come back later than its payments: the event waits for it.
    if (!order) throw new OrderNotFoundError(event.orderId);
    await manager.insert(OrderEvent, { order, name: event.name, paymentId: event.paymentId, at: event.occurredAt });
    return order;
  }
}
