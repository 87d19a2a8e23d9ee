import { Body, Controller, Get, Param, ParseUUIDPipe, Post, UseFilters, type OnModuleInit } from '@nestjs/common';
import { PaymentAcceptanceService, PaymentExceptionFilter } from 'nestjs-payment-acceptance';
import { createTables, db } from './database.js';

@Controller('orders')
@UseFilters(PaymentExceptionFilter)
export class OrdersController implements OnModuleInit {
  constructor(private readonly payments: PaymentAcceptanceService) {}

  async onModuleInit(): Promise<void> {
    await createTables();
  }

  /** Stores the order first: the bill is never made inside the order's transaction. */
  @Post()
  async create(@Body('amount') amount: string): Promise<{ id: string; payUrl: string }> {
    const { id } = await db
      .insertInto('orders')
      .values({ amount, note: null })
      .returning('id')
      .executeTakeFirstOrThrow();
    const { linkPageUrl } = await this.payments.createBill({ orderId: id, amount, description: 'Two cups' });
    return { id, payUrl: linkPageUrl };
  }

  @Get(':id')
  order(@Param('id', ParseUUIDPipe) id: string): Promise<object> {
    return db.selectFrom('orders').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }

  onApplicationShutdown(): Promise<void> {
    return db.destroy();
  }
}
