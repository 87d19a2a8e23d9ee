import { Body, Controller, Get, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn('uuid') id!: string;
  @Column('numeric', { precision: 10, scale: 2 }) amount!: string;
  @Column('text', { default: 'RUB' }) currency!: string;
  @Column('text', { default: 'pending' }) status!: 'pending' | 'paid' | 'cancelled';
  @Column('text', { nullable: true }) note!: string | null;
  @Column('bool', { default: false }) shipped!: boolean;
}

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly payments: PaymentAcceptanceService,
    private readonly database: DataSource,
  ) {}

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
