import type { Provider } from '@nestjs/common';
import { PaymentOperatorActionError, PaymentOperations, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import type { PayInput } from 'nestjs-payment-sandbox';
import { DataSource } from 'typeorm';
import { connectionOf, forTestSql } from '../../support/database.js';
import {
  EU_TOKEN,
  Effect,
  MAIN_TOKEN,
  setCallbacks,
  startHarness,
  type Harness,
  type Instance,
} from '../../support/harness.js';
import { postJson, postbackFields } from '../../support/http.js';
import { violations } from './account.js';
import { bounded, unlessItHangs } from './bounded.js';
import { DatabaseProxy } from './database-proxy.js';
import { Desk, Handlers, writeEffect, type OutcomeEvent } from './handlers.js';
import { History, INBOX, type Outcome } from './history.js';
import { readTables } from './tables.js';

export type Shop = 'main' | 'eu';

/** Two instances of one application, or two applications with a shop each. */
export type Hosts = 'two instances' | 'two applications';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** How long after the end of all faults each payment must have its event or its review, on the module's clock. */
export const SETTLED_WITHIN_MS = 30 * MINUTE;

/** How that time passes: all workers run after each of these steps. */
const STEPS_MS = [10, 50, 120, 420, 1_200].map((seconds) => seconds * SECOND);

/** The module's timeout of statements; all of its limits are small here. */
const STATEMENT_MS = 250;

/** An instance, and the proxy between it and the database. */
export interface Seat {
  readonly shops: readonly Shop[];
  readonly desk: Desk;
  readonly instance: Instance;
  readonly proxy: DatabaseProxy;
}

interface Message {
  readonly event: OutcomeEvent;
  resolved: boolean;
}

/** Two hosts on one database, the service, payers, a broker and an operator: what they do, and what they observe. */
export class World {
  history = new History();
  private messages: Message[] = [];
  private orders: { readonly shop: Shop; readonly orderId: string; billId?: string }[] = [];
  private count = 0;

  private constructor(
    private readonly harness: Harness,
    readonly seats: readonly [Seat, Seat],
    /** Reaches the database without a proxy. */
    private readonly direct: DataSource,
  ) {}

  static async start(hosts: Hosts): Promise<World> {
    const proxies: DatabaseProxy[] = [];
    const shopsOf = (seat: number): readonly Shop[] =>
      hosts === 'two instances' ? ['main', 'eu'] : [seat === 0 ? 'main' : 'eu'];
    const desks = [0, 1].map(
      (seat) =>
        new Desk(
          shopsOf(seat).join('+'),
          (application, { shop, id: eventId }) => world.history.add({ what: 'handed', application, shop, eventId }),
          (event) => world.messages.push({ event, resolved: false }),
        ),
    );
    const providers = (seat: number): Provider[] => [{ provide: Desk, useValue: desks[seat]! }, Handlers];
    const only = (seat: number) => (hosts === 'two instances' ? {} : { only: shopsOf(seat)[0]! });
    const harness = await startHarness({
      providers: providers(0),
      ...only(0),
      async through(databaseUrl) {
        const proxy = await DatabaseProxy.open(databaseUrl);
        proxies.push(proxy);
        return proxy.url;
      },
      sandbox: { postbackRetryDelays: ['10s', '1m', '2m', '2m', '2m', '5m'] },
      options: {
        statementTimeoutMs: STATEMENT_MS,
        http: { totalTimeoutMs: 1_000, attempts: 1 },
        confirmer: { leaseMs: 1_200 },
        deliveries: { maxAttempts: 3, timeLimitMs: 600 },
        callbacks: { storeTimeoutMs: 400 },
        creation: { storeTimeoutMs: 600, waitMs: 100 },
      },
    });
    await harness.start({ providers: providers(1), ...only(1) });
    const direct = await new DataSource({ ...connectionOf(harness.databaseUrl), entities: [Effect] }).initialize();
    await createPaymentInbox(direct.manager);
    const seats = [0, 1].map((seat) => ({
      shops: shopsOf(seat),
      desk: desks[seat]!,
      instance: harness.instances[seat]!,
      proxy: proxies[seat]!,
    })) as unknown as readonly [Seat, Seat];
    const world: World = new World(harness, seats, await forTestSql(direct));
    if (hosts === 'two applications') {
      await harness.sandbox.putShop('shop-eu', { resultUrl: `${seats[1].instance.url}/postback/payment/eu` });
    }
    return world;
  }

  /** One of the hosts that have the shop. */
  seatOf(shop: Shop, index: number): Seat {
    const own = this.seats.filter(({ shops }) => shops.includes(shop));
    return own[index % own.length]!;
  }

  get bills(): readonly { readonly shop: Shop; readonly orderId: string; readonly billId: string }[] {
    return this.history.of('bill') as readonly { shop: Shop; orderId: string; billId: string }[];
  }

  async pass(ms: number): Promise<void> {
    await this.harness.sandbox.advanceClock(`${ms}ms`);
    this.harness.clock.advance(ms);
  }

  /** Asks for the bill of a new order. */
  async order(shop: Shop, seat: number): Promise<void> {
    const order = { shop, orderId: `order-${(this.count += 1)}` };
    this.orders.push(order);
    this.history.add({ what: 'order', ...order });
    await this.create(order, seat);
  }

  /** Repeats orders that have no bill yet, once hanging calls have timed out. */
  async orderAgain(seat: number): Promise<void> {
    if (this.orders.every(({ billId }) => billId !== undefined)) return;
    await this.pass(3 * MINUTE);
    await this.confirm(seat);
    for (const order of this.orders) if (order.billId === undefined) await this.create(order, seat);
  }

  private async create(order: { shop: Shop; orderId: string; billId?: string }, seat: number): Promise<void> {
    const { shop, orderId } = order;
    const payments = this.seatOf(shop, seat).instance.payments.shop(shop);
    const bill = await bounded(payments.createBill({ orderId, amount: '10.00' })).catch(unlessItHangs);
    if (!bill || order.billId !== undefined) return;
    order.billId = bill.billId;
    this.history.add({ what: 'bill', shop, orderId, billId: bill.billId });
  }

  /** A payer pays a bill, and its postback goes to a host that has its shop. */
  async pay(billId: string, input: PayInput, seat = 0): Promise<void> {
    const { shop } = this.bills.find((bill) => bill.billId === billId)!;
    const { url } = this.seatOf(shop, seat).instance;
    const resultUrl = `${url}/postback/payment${shop === 'eu' ? '/eu' : ''}`;
    await this.harness.sandbox.putShop(`shop-${shop}`, { resultUrl });
    const { payment } = await this.harness.sandbox.pay(billId, input);
    const status = payment.status as 'SUCCESS' | 'FAIL';
    this.history.add({ what: 'payment', paymentId: payment.id, billId, status });
    await bounded(this.harness.sandbox.settled());
  }

  /** Somebody sends another postback for the bill. */
  async postback(billId: string, seat = 0): Promise<void> {
    const { shop, orderId } = this.bills.find((bill) => bill.billId === billId)!;
    const mark = `mark-${(this.count += 1)}`;
    const fields = postbackFields(
      { InvId: orderId, OutSum: '10.00', TrsId: billId },
      shop === 'main' ? MAIN_TOKEN : EU_TOKEN,
    );
    const url = `${this.seatOf(shop, seat).instance.url}/postback/payment${shop === 'eu' ? '/eu' : ''}`;
    const { status } = await bounded(postJson(url, { ...fields, custom: mark }));
    if (status === 200) this.history.add({ what: 'acknowledged', billId, mark });
  }

  /** Checks due bills. The round may fail with its connection. */
  async confirm(seat: number): Promise<number> {
    return (await bounded(this.seats[seat]!.instance.confirmer.runOnce()).catch(unlessItHangs)) ?? 1;
  }

  async deliver(seat: number): Promise<number> {
    return (await bounded(this.seats[seat]!.instance.deliveries.runOnce()).catch(unlessItHangs)) ?? 1;
  }

  /**
   * The broker hands a message to a host that may take it. The inbox works on the host's connections, without the module's
   * limits: while one hangs, the message goes to the other host, and the first is released.
   */
  private async consume(message: Message, index: number): Promise<void> {
    const seat = this.seatOf(message.event.shop as Shop, index);
    const silence = seat.proxy.silence();
    const processing = this.process(message, seat);
    const hangs = await Promise.race([processing.then(() => false), silence.then(() => true)]);
    if (!hangs) return;
    const again = this.consume(message, index + 1);
    seat.proxy.release();
    await Promise.all([processing, again]);
  }

  private async process(message: Message, { instance }: Seat): Promise<void> {
    const { event } = message;
    try {
      const now = await processOnce(instance.dataSource.manager, event, (manager) =>
        writeEffect(manager, INBOX, event),
      );
      message.resolved = true;
      this.history.add({ what: 'processed', eventId: event.id, now });
    } catch {
      // The message is delivered again.
    }
  }

  /** Delivers a message, processed or not, to one host or to both at once. */
  async consumeAny(which: number, seats: readonly number[]): Promise<void> {
    const message = this.messages[which % this.messages.length];
    if (message) await bounded(Promise.all(seats.map((seat) => this.consume(message, seat))));
  }

  async decide(accept: boolean, index: number, seat: number): Promise<void> {
    const rows = await this.direct.query<{ id: string; shop: Shop }[]>(
      'SELECT id, shop FROM payment_acceptance.review ORDER BY opened_at',
    );
    const review = rows[index % rows.length];
    if (!review) return;
    const reviews = this.seatOf(review.shop, seat).instance.app.get(PaymentReviews);
    await this.act(review.id, (by) => (accept ? reviews.accept(review.id, by) : reviews.dismiss(review.id, by)));
  }

  /** Replays one dead letter; returns whether there was any. */
  async replay(index: number, seat: number): Promise<boolean> {
    const rows = await this.direct.query<{ id: string; shop: Shop }[]>(
      `SELECT d.id::text AS id, b.shop FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.id = d.bill_id
       WHERE d.state = 'DEAD' ORDER BY d.id`,
    );
    const dead = rows[index % rows.length];
    if (!dead) return false;
    const operations = this.seatOf(dead.shop, seat).instance.app.get(PaymentOperations);
    await this.act(dead.id, ({ operator, note }) => operations.replay({ deliveryId: dead.id }, operator, note));
    return true;
  }

  private async act(target: string, work: (by: { operator: string; note: string }) => Promise<unknown>): Promise<void> {
    const note = `action-${(this.count += 1)}`;
    let outcome: Outcome = 'done';
    const changed = await bounded(work({ operator: 'somebody', note })).catch((error: unknown) => {
      outcome = error instanceof PaymentOperatorActionError ? 'refused' : 'unknown';
      return unlessItHangs(error);
    });
    this.history.add({ what: 'action', note, target, outcome, ...(typeof changed === 'number' && { changed }) });
  }

  /** Ends all faults, lets time pass while all workers run, and returns what is still wrong. */
  async account(): Promise<string[]> {
    for (const { proxy, desk } of this.seats) {
      proxy.disarm();
      proxy.release();
      desk.failures = 0;
    }
    let passed = 0;
    for (const ms of STEPS_MS) {
      await this.pass(ms);
      passed += ms;
      await this.harness.sandbox.settled();
      await this.untilQuiet();
    }
    if (passed !== SETTLED_WITHIN_MS) throw new Error(`${passed} ms have passed.`);
    for (const { billId } of this.bills) {
      for (const { state, fields } of this.harness.sandbox.bill(billId).callbacks) {
        if (state === 'delivered' && fields['TrsId'] === billId)
          this.history.add({ what: 'acknowledged', billId, mark: null });
      }
    }
    return violations(this.history, await readTables(this.direct));
  }

  private async untilQuiet(): Promise<void> {
    for (const order of this.orders.filter(({ billId }) => billId === undefined)) await this.create(order, 0);
    for (let round = 0; round < 50; round += 1) {
      let work = 0;
      for (const seat of [0, 1]) work += (await this.confirm(seat)) + (await this.deliver(seat));
      if (await this.replay(0, 0)) work += 1;
      for (const message of this.messages.filter(({ resolved }) => !resolved)) {
        work += 1;
        await bounded(this.consume(message, 0));
      }
      if (work === 0) return;
    }
    throw new Error('The workers never run out of work.');
  }

  /** Deletes everything, for the next sequence. */
  async clear(): Promise<void> {
    this.history = new History();
    this.messages = [];
    this.orders = [];
    await setCallbacks(this.harness.sandbox, this.seats[0].instance.url);
    await this.direct.query(
      ['operator_action', 'delivery', 'event', 'review', 'payment', 'callback', 'bill', 'shop_order']
        .map((table) => `DELETE FROM payment_acceptance.${table};`)
        .concat('DELETE FROM effect;', 'DELETE FROM payment_inbox')
        .join(' '),
    );
  }

  async close(): Promise<void> {
    await this.direct.destroy();
    for (const { proxy } of this.seats) proxy.release();
    await this.harness.close();
    for (const { proxy } of this.seats) await proxy.close();
  }
}
