import {
  Body,
  Controller,
  Get,
  Header,
  type MessageEvent,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Post,
  Query,
  Redirect,
  Sse,
} from '@nestjs/common';
import { IsIn, IsOptional, IsString, IsUUID } from 'class-validator';
import { map, type Observable } from 'rxjs';
import { OrderWatch, versionOf } from '../orders/order-watch.js';
import { isFinal, type Order, type ShopName } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { orderPage, orderState, titleOf } from './order.page.js';
import { ordersPage } from './orders.page.js';
import { priceOf } from './price-changed.page.js';
import { productsPage } from './products.page.js';
import { PRODUCTS } from './products.js';

class BuyDto {
  @IsIn(PRODUCTS.map(({ id }) => id))
  product!: string;

  @IsIn(['main', 'eu'])
  shop!: ShopName;

  /** The order's id, generated with the form, so that submitting the form twice makes only one order. */
  @IsOptional()
  @IsUUID('4')
  order?: string;
}

class PayDto {
  /** The new price that the buyer has agreed to, as {@link priceOf} writes it. */
  @IsOptional()
  @IsString()
  price?: string;
}

/** The shop's pages. */
@Controller()
export class OrdersPageController {
  constructor(
    private readonly orders: OrdersService,
    private readonly orderWatch: OrderWatch,
  ) {}

  /** Not cached, so that each visit has forms for new orders. */
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Cache-Control', 'no-store')
  products(@Query('shop') shop: unknown): string {
    return productsPage(shop === 'eu' ? 'eu' : 'main');
  }

  @Post('buy')
  @Redirect()
  async buy(@Body() { product, shop, order }: BuyDto) {
    const chosen = PRODUCTS.find(({ id }) => id === product);
    if (!chosen) throw new NotFoundException('There is no such product.');
    const { bill } = await this.orders.create({ shop, amount: chosen.prices[shop], description: chosen.name }, order);
    return { url: bill.linkPageUrl, statusCode: 303 };
  }

  @Get('orders')
  @Header('Content-Type', 'text/html; charset=utf-8')
  async list(): Promise<string> {
    return ordersPage(await this.orders.newest());
  }

  /** Not cached, so that going back shows the present state. */
  @Get('orders/:id')
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Cache-Control', 'no-store')
  async show(@Param('id', ParseUUIDPipe) id: string): Promise<string> {
    return orderPage(await this.order(id));
  }

  /** The order's state as it changes, for the page's script. */
  @Sse('orders/:id/live')
  async live(@Param('id', ParseUUIDPipe) id: string): Promise<Observable<MessageEvent>> {
    await this.order(id);
    return this.orderWatch.watch(id).pipe(
      map((order) => ({
        data: { version: versionOf(order), title: titleOf(order), html: orderState(order).text, final: isFinal(order) },
      })),
    );
  }

  @Post('orders/:id/pay')
  @Redirect()
  async pay(@Param('id', ParseUUIDPipe) id: string, @Body() { price }: PayDto = {}) {
    const order = await this.order(id);
    if (isFinal(order)) return { url: `/orders/${id}`, statusCode: 303 };
    // The price may have changed again since the buyer saw it on the page.
    const bill = await this.orders.bill(order, price === priceOf(order));
    return { url: bill.linkPageUrl, statusCode: 303 };
  }

  @Post('orders/:id/cancel')
  @Redirect()
  async cancel(@Param('id', ParseUUIDPipe) id: string) {
    await this.orders.cancel(await this.order(id));
    return { url: `/orders/${id}`, statusCode: 303 };
  }

  private async order(id: string): Promise<Order> {
    const order = await this.orders.find(id);
    if (!order) throw new NotFoundException('There is no such order.');
    return order;
  }
}
