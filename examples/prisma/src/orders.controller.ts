import { Body, Controller, Get, Param, Post, UseFilters } from '@nestjs/common';
import { PaymentAcceptanceService, PaymentExceptionFilter } from 'nestjs-payment-acceptance';
import { PrismaService } from './prisma.service.js';

@Controller('orders')
@UseFilters(PaymentExceptionFilter)
export class OrdersController {
  constructor(
    private readonly payments: PaymentAcceptanceService,
    private readonly prisma: PrismaService,
  ) {}

  /** Stores the order first: the bill is never made inside the order's transaction. */
  @Post()
  async create(@Body('amount') amount: string): Promise<{ id: string; payUrl: string }> {
    const { id } = await this.prisma.order.create({ data: { amount } });
    const { linkPageUrl } = await this.payments.createBill({ orderId: id, amount, description: 'Two cups' });
    return { id, payUrl: linkPageUrl };
  }

  @Get(':id')
  order(@Param('id') id: string): Promise<object> {
    return this.prisma.order.findUniqueOrThrow({ where: { id } });
  }
}
