import { Body, Controller, Get, Param, ParseUUIDPipe, Post, UseFilters } from '@nestjs/common';
import * as payment from 'nestjs-payment-acceptance';
import { DataSource, type EntityManager } from 'typeorm';
import { Transactional } from 'typeorm-transactional';
import { Order } from './database';

@Controller({ path: 'orders', version: '1' })
@UseFilters(payment.PaymentExceptionFilter)
export class OrdersController {
  constructor(
    private readonly payments: payment.PaymentAcceptanceService,
    private readonly database: DataSource,
  ) {}

  /** Works, and the log warns: a bill whose order was rolled back can still be paid. In new code, commit the order first. */
  @Post()
  @Transactional()
  async create(@Body('amount') amount: string): Promise<{ id: string; payUrl: string }> {
    const { id } = await this.database.manager.save(Order, { amount });
    const { linkPageUrl } = await this.payments.createBill({ orderId: id, amount, description: 'Two cups' });
    return { id, payUrl: linkPageUrl };
  }

  @Get(':id')
  order(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.database.manager.findOneByOrFail(Order, { id });
  }

  @payment.OnPaymentSucceeded({ consumer: 'orders' })
  async paid(
    event: payment.PaymentSucceededEvent,
    { manager }: payment.PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { orderId: id, billedAmount: amount, currency, paymentId } = event;
    const order = { id, amount, currency };
    const { affected } = await manager.update(Order, { ...order, status: 'pending' }, { status: 'paid' });
    // E.g. cancelled or already paid: it stays as it is, and a person reads the note. If there is none, this throws.
    if (!affected) payment.requireOrder(event, await manager.update(Order, order, { note: `Payment ${paymentId}` }));
  }
}
