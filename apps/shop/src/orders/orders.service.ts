import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  PaymentBillMismatchError,
  InjectPaymentShop,
  parseAmount,
  PaymentShop,
  type PaymentBill,
} from 'nestjs-payment-acceptance';
import { randomUUID } from 'node:crypto';
import { In, Repository } from 'typeorm';
import type { CreateOrderDto } from './create-order.dto.js';
import { Order, type OrderStatus, type ShopName } from './order.entity.js';

const NEWEST = 100;

/** An order that is stored, and whose bill could not be made: it can still be paid. */
export class OrderNotBilledError extends Error {
  constructor(
    readonly orderId: string,
    override readonly cause: unknown,
  ) {
    super(`Order ${orderId} has no bill yet.`, { cause });
  }
}

type WantedOrder = Pick<Order, 'shop' | 'amount' | 'currency' | 'description' | 'status'>;

function isSame(order: Order, wanted: WantedOrder): boolean {
  return (Object.keys(wanted) as (keyof WantedOrder)[]).every((field) => order[field] === wanted[field]);
}

@Injectable()
export class OrdersService {
  private readonly shops: Readonly<Record<ShopName, PaymentShop>>;

  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    @InjectPaymentShop('main') main: PaymentShop,
    @InjectPaymentShop('eu') eu: PaymentShop,
  ) {
    this.shops = { main, eu };
  }

  /**
   * Stores the order first, then creates its bill: a crash in between leaves an order that can still be paid.
   * @param id the same order that is wanted again, and still waits for its payment, is not made a second time
   * @throws OrderNotBilledError
   */
  async create(given: CreateOrderDto, id?: string): Promise<{ order: Order; bill: PaymentBill }> {
    const shop = given.shop ?? 'main';
    const wanted: WantedOrder = {
      shop,
      amount: parseAmount(given.amount) ?? given.amount,
      currency: this.shops[shop].currency,
      description: given.description ?? 'An order',
      status: 'pending',
    };
    let order = await this.store(wanted, id);
    if (id !== undefined && !isSame(order, wanted)) order = await this.store(wanted);
    try {
      return { order, bill: await this.bill(order) };
    } catch (error) {
      throw new OrderNotBilledError(order.id, error);
    }
  }

  /** @returns the order with that id, which may be an earlier one */
  private async store(wanted: WantedOrder, id: string = randomUUID()): Promise<Order> {
    await this.orders
      .createQueryBuilder()
      .insert()
      .orIgnore()
      .values({ id, ...wanted })
      .execute();
    return this.orders.findOneByOrFail({ id });
  }

  /**
   * The order's open bill, or a new one if the last has ended.
   * @param newPrice create another bill if the price of the open one is outdated; that one can still be paid,
   *   and then a person decides
   * @throws PaymentBillMismatchError if the price is outdated and `newPrice` is false
   */
  async bill(order: Order, newPrice = false): Promise<PaymentBill> {
    const { id: orderId, shop, amount, currency, description } = order;
    const request = { orderId, amount, currency, description };
    try {
      return await this.shops[shop].createBill(request);
    } catch (error) {
      if (!(newPrice && error instanceof PaymentBillMismatchError)) throw error;
      return this.shops[shop].createBill(request, { newAttempt: true });
    }
  }

  /**
   * No further bill is made, and what is still paid waits for a person. If the process dies in between, cancel again.
   * @throws PaymentOrderAlreadyPaidError
   */
  async cancel({ id, shop }: Order): Promise<void> {
    await this.shops[shop].cancelOrder(id);
    await this.orders.update({ id, status: In<OrderStatus>(['pending', 'not_paid']) }, { status: 'cancelled' });
  }

  find(id: string): Promise<Order | null> {
    return this.orders.findOne({ where: { id }, relations: { events: true }, order: { events: { id: 'ASC' } } });
  }

  findAll(ids: string[]): Promise<Order[]> {
    return this.orders.find({
      where: { id: In(ids) },
      relations: { events: true },
      order: { events: { id: 'ASC' } },
    });
  }

  newest(): Promise<Order[]> {
    return this.orders.find({
      relations: { events: true },
      order: { createdAt: 'DESC', events: { id: 'ASC' } },
      take: NEWEST,
    });
  }
}
