import { Body, Controller, Get, Param, ParseUUIDPipe, Post, UseFilters, type OnModuleInit } from '@nestjs/common';
import { eq } from 'drizzle-orm';
import { PaymentAcceptanceService, PaymentExceptionFilter } from 'nestjs-payment-acceptance';
import { randomUUID } from 'node:crypto';
import { createTables, db, orders, pool } from './database.js';

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
    const id = randomUUID();
    await db.insert(orders).values({ id, amount });
    const { linkPageUrl } = await this.payments.createBill({ orderId: id, amount, description: 'Two cups' });
    return { id, payUrl: linkPageUrl };
  }

  @Get(':id')
  async order(@Param('id', ParseUUIDPipe) id: string): Promise<object | undefined> {
    const [order] = await db.select().from(orders).where(eq(orders.id, id));
    return order;
  }

  onApplicationShutdown(): Promise<void> {
    return pool.end();
  }
}
