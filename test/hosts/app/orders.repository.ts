import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Order } from './order.entity.js';

/** The data source with the orders, whatever its name. */
export const ORDERS_DATA_SOURCE = 'ORDERS_DATA_SOURCE';

@Injectable()
export class OrdersRepository {
  constructor(@Inject(ORDERS_DATA_SOURCE) private readonly dataSource: DataSource) {}

  add(amount: string, currency: string): Promise<Order> {
    const orders = this.dataSource.getRepository(Order);
    return orders.save(orders.create({ amount, currency }));
  }

  async statusOf(id: string): Promise<string> {
    return (await this.dataSource.getRepository(Order).findOneByOrFail({ id })).status;
  }
}
