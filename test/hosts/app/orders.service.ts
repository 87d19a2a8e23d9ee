import { Injectable } from '@nestjs/common';
import {
  InjectPaymentShop,
  OnPaymentSucceeded,
  PaymentAcceptanceService,
  PaymentShop,
  requireOrder,
  type PaymentBill,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Order } from './order.entity.js';
import { OrdersRepository } from './orders.repository.js';
import type { EntityManager } from 'typeorm';

@Injectable()
export class OrdersService {
  constructor(
    private readonly payments: PaymentAcceptanceService,
    @InjectPaymentShop('eu') private readonly eu: PaymentShop,
    private readonly orders: OrdersRepository,
  ) {}

  /** Creates an order and its bill, in RUB or EUR. */
  async order(amount: string, currency: 'RUB' | 'EUR' = 'RUB'): Promise<PaymentBill> {
    const order = await this.orders.add(amount, currency);
    const shop = currency === 'EUR' ? this.eu : this.payments;
    return shop.createBill({ orderId: order.id, amount, description: 'Two cups' });
  }

  statusOf(id: string): Promise<string> {
    return this.orders.statusOf(id);
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  async markPaid(event: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>) {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { affected } = await manager.update(Order, { ...order, status: 'pending' }, { status: 'paid' });
    // E.g. the order is cancelled or already paid: it stays as it is, and a person reads the note. If there is no such order, this throws.
    if (!affected) requireOrder(event, await manager.update(Order, order, { note: `Payment ${paymentId}` }));
  }
}
