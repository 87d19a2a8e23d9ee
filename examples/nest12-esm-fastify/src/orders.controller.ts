import { Body, Controller, Get, Param, ParseUUIDPipe, Post, UseFilters } from '@nestjs/common';
import { PaymentAcceptanceService, PaymentExceptionFilter } from 'nestjs-payment-acceptance';
import { DataSource } from 'typeorm';
import { Order } from './order.entity.js';

@Controller('orders')
@UseFilters(PaymentExceptionFilter)
export class OrdersController {
  constructor(
    private readonly payments: PaymentAcceptanceService,
    private readonly database: DataSource,
  ) {}

  /** Stores the order first: the bill is never made inside the order's transaction. */
  @Post()
  async create(@Body('amount') amount: string): Promise<{ id: string; payUrl: string }> {
    const { id } = await this.database.manager.save(Order, { amount });
    const { linkPageUrl } = await this.payments.createBill({ orderId: id, amount, description: 'Two cups' });
    return { id, payUrl: linkPageUrl };
  }

  @Get(':id')
  order(@Param('id', ParseUUIDPipe) id: string): Promise<Order> {
    return this.database.manager.findOneByOrFail(Order, { id });
  }
}
