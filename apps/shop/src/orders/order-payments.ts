import { Injectable } from '@nestjs/common';
import {
  compareAmounts,
  OnPaymentFailed,
  OnPaymentReview,
  OnPaymentSucceeded,
  requireOrder,
  type PaymentEvent,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentReviewEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import type { EntityManager } from 'typeorm';
import { isFinal, Order, OrderEvent } from './order.entity.js';

/**
 * Updates orders from the payment events. Writes through the given manager commit together with the mark that the event
 * was processed, so they take effect exactly once, however often a handler is called.
 */
@Injectable()
export class OrderPayments {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async markPaid(event: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const order = await this.record(event, manager);
    if (order.status === 'paid') return;
    if (order.status === 'cancelled') {
      order.note = `A payment of ${event.amount} ${event.currency} arrived after the order was cancelled.`;
      await manager.save(order);
      return;
    }
    // The bill was for the order's price at that time. If the price has risen or the currency has changed since, a person
    // decides. The paid amount may differ from the billed one: it may include the payer's commission, be too high, or be
    // too low but accepted by an operator.
    if (event.currency !== order.currency || compareAmounts(event.billedAmount, order.amount) < 0) {
      order.note = `The bill was for ${event.billedAmount} ${event.currency}, but the order costs ${order.amount} ${order.currency}.`;
    } else {
      order.status = 'paid';
      order.paidAmount = event.amount;
      order.note = null;
    }
    await manager.save(order);
  }

  /** A failure says nothing about other payments: a paid order stays paid, and a cancelled one cancelled. */
  @OnPaymentFailed({ consumer: 'orders' })
  async markNotPaid(event: PaymentFailedEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const order = await this.record(event, manager);
    if (isFinal(order)) return;
    order.status = 'not_paid';
    await manager.save(order);
  }

  /**
   * Money may have arrived, for example less than the price or in another currency: the buyer should not pay again before
   * a person has decided and told the buyer.
   */
  @OnPaymentReview({ consumer: 'orders' })
  async markChecked(event: PaymentReviewEvent, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    const order = await this.lock(event, manager);
    if (isFinal(order) || event.paymentId === null) return;
    const sum = event.amount === null ? '' : ` of ${event.amount} ${event.paymentCurrency ?? event.currency}`;
    order.note = `We are checking your payment${sum} and will write to you.`;
    await manager.save(order);
  }

  /** Locks the order, so that two events never start from the same state. */
  private async lock(event: PaymentEvent, manager: EntityManager): Promise<Order> {
    const where = { id: event.orderId };
    // After a restore, the order may reappear later than its payment: the event is then retried.
    return requireOrder(event, await manager.findOne(Order, { where, lock: { mode: 'pessimistic_write' } }));
  }

  private async record(event: PaymentSucceededEvent | PaymentFailedEvent, manager: EntityManager): Promise<Order> {
    const order = await this.lock(event, manager);
    await manager.insert(OrderEvent, { order, name: event.name, paymentId: event.paymentId, at: event.occurredAt });
    return order;
  }
}
