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

const MAX_LISTED_ORDERS = 100;

/** The order is stored, but its bill could not be created: the order can still be paid. */
export class OrderNotBilledError extends Error {
  constructor(
    readonly orderId: string,
    override readonly cause: unknown,
  ) {
    super(`Order ${orderId} has no bill yet.`, { cause });
  }
}

type OrderTerms = Pick<Order, 'shop' | 'amount' | 'currency' | 'description' | 'status'>;

function isSame(order: Order, terms: OrderTerms): boolean {
  return (Object.keys(terms) as (keyof OrderTerms)[]).every((field) => order[field] === terms[field]);
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
   * @param id if it belongs to an identical order that still awaits payment, no second order is made
   * @throws OrderNotBilledError
   */
  async create(dto: CreateOrderDto, id?: string): Promise<{ order: Order; bill: PaymentBill }> {
    const shop = dto.shop ?? 'main';
    const terms: OrderTerms = {
      shop,
      amount: parseAmount(dto.amount) ?? dto.amount,
      currency: this.shops[shop].currency,
      description: dto.description ?? 'An order',
      status: 'pending',
    };
    let order = await this.store(terms, id);
    if (id !== undefined && !isSame(order, terms)) order = await this.store(terms);
    try {
      return { order, bill: await this.bill(order) };
    } catch (error) {
      throw new OrderNotBilledError(order.id, error);
    }
  }

  /** @returns the order with that id, which may have been stored earlier */
  private async store(terms: OrderTerms, id: string = randomUUID()): Promise<Order> {
    await this.orders
      .createQueryBuilder()
      .insert()
      .orIgnore()
      .values({ id, ...terms })
      .execute();
    return this.orders.findOneByOrFail({ id });
  }

  /**
   * The order's open bill, or a new one if the last has ended.
   * @param newPrice whether to create another bill if the price of the open one is outdated; if the old bill is paid after
   *   all, a person decides
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
   * Cancels the order: no further bill can be created, and a payment that still arrives waits for a person. If the process
   * dies between the two steps, cancel again.
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
      take: MAX_LISTED_ORDERS,
    });
  }
}
