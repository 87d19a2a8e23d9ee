import {
  Body,
  Controller,
  Get,
  HttpCode,
  HttpStatus,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
} from '@nestjs/common';
import { CreateOrderDto } from './create-order.dto.js';
import type { Order } from './order.entity.js';
import { OrdersService } from './orders.service.js';

@Controller('api/orders')
export class OrdersApiController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  async create(@Body() input: CreateOrderDto) {
    const { order, bill } = await this.orders.create(input);
    return { id: order.id, status: order.status, payUrl: bill.linkPageUrl, billId: bill.billId };
  }

  @Get()
  async list() {
    return (await this.orders.newest()).map(view);
  }

  @Get(':id')
  async show(@Param('id', ParseUUIDPipe) id: string) {
    return view(await this.order(id));
  }

  @Post(':id/cancel')
  @HttpCode(HttpStatus.OK)
  async cancel(@Param('id', ParseUUIDPipe) id: string) {
    await this.orders.cancel(await this.order(id));
    return view(await this.order(id));
  }

  private async order(id: string): Promise<Order> {
    const order = await this.orders.find(id);
    if (!order) throw new NotFoundException('There is no such order.');
    return order;
  }
}

function view({ id, shop, amount, currency, description, status, paidAmount, note, events }: Order) {
  return {
    id,
    shop,
    amount,
    currency,
    description,
    status,
    paidAmount,
    note,
    events: events.map(({ name, paymentId, at }) => ({ name, paymentId, at })),
  };
}
