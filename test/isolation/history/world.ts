import { deliveryId } from '../../../libs/payment-acceptance/src/domain/event-id.js';
import { PaymentOperatorActionError, PaymentOperations, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import type { PayInput } from 'nestjs-payment-sandbox';
import type { DataSource } from 'typeorm';
import { EU_TOKEN, MAIN_TOKEN, setCallbacks, type Harness } from '../../support/harness.js';
import { postJson, postbackFields } from '../../support/http.js';
import { violations } from './account.js';
import { bounded, unlessItHangs } from './bounded.js';
import { Broker } from './broker.js';
import { History, type Outcome } from './history.js';
import { seatOf, startSeats, type Hosts, type Seat, type Shop } from './seats.js';
import { readTables } from './tables.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** How long after the end of all faults each payment must have its event or its review, on the module's clock. */
export const SETTLED_WITHIN_MS = 30 * MINUTE;

/** How that time passes: all workers run after each of these steps. */
const STEPS_MS = [10, 50, 120, 420, 1_200].map((seconds) => seconds * SECOND);

/** Two hosts on one database, the service, payers, a broker and an operator: what they do, and what they observe. */
export class World {
  history = new History();
  private readonly broker: Broker;
  private orders: { readonly shop: Shop; readonly orderId: string; billId?: string }[] = [];
  private count = 0;

  private constructor(
    private readonly harness: Harness,
    readonly seats: readonly [Seat, Seat],
    /** Reaches the database without a proxy. */
    private readonly direct: DataSource,
  ) {
    this.broker = new Broker(seats, (eventId, now) => this.history.add({ what: 'processed', eventId, now }));
  }

  static async start(hosts: Hosts): Promise<World> {
    const { harness, seats, direct } = await startSeats(
      hosts,
      (application, { shop, id: eventId }) => world.history.add({ what: 'handed', application, shop, eventId }),
      (event) => world.broker.publish(event),
    );
    const world: World = new World(harness, seats, direct);
    return world;
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
    const payments = seatOf(this.seats, shop, seat).instance.payments.shop(shop);
    const bill = await bounded(payments.createBill({ orderId, amount: '10.00' })).catch(unlessItHangs);
    if (!bill || order.billId !== undefined) return;
    order.billId = bill.billId;
    this.history.add({ what: 'bill', shop, orderId, billId: bill.billId });
  }

  /** A payer pays a bill, and its postback goes to a host that has its shop. */
  async pay(billId: string, input: PayInput, seat = 0): Promise<void> {
    const { shop } = this.bills.find((bill) => bill.billId === billId)!;
    const { url } = seatOf(this.seats, shop, seat).instance;
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
    const url = `${seatOf(this.seats, shop, seat).instance.url}/postback/payment${shop === 'eu' ? '/eu' : ''}`;
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

  /** The broker delivers a message, processed or not, to one host or to both at once. */
  consumeAny(which: number, seats: readonly number[]): Promise<void> {
    return this.broker.deliverAny(which, seats);
  }

  async decide(accept: boolean, index: number, seat: number): Promise<void> {
    const rows = await this.direct.query<{ id: string; shop: Shop }[]>(
      'SELECT id, shop FROM payment_acceptance.review ORDER BY opened_at',
    );
    const review = rows[index % rows.length];
    if (!review) return;
    const reviews = seatOf(this.seats, review.shop, seat).instance.app.get(PaymentReviews);
    await this.act(review.id, (by) => (accept ? reviews.accept(review.id, by) : reviews.dismiss(review.id, by)));
  }

  /** Replays one dead letter; returns whether there was any. */
  async replay(index: number, seat: number): Promise<boolean> {
    const rows = await this.direct.query<{ event: string; consumer: string; shop: Shop }[]>(
      `SELECT d.event_id::text AS event, d.consumer, b.shop FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.intent_id = d.intent_id
       WHERE d.state = 'DEAD' ORDER BY d.id`,
    );
    const dead = rows[index % rows.length];
    if (!dead) return false;
    const operations = seatOf(this.seats, dead.shop, seat).instance.app.get(PaymentOperations);
    const id = deliveryId(dead.event, dead.consumer);
    await this.act(id, ({ operator, note }) => operations.replay({ deliveryId: id }, { operator, note }));
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
      work += await this.broker.deliverUnresolved();
      if (work === 0) return;
    }
    throw new Error('The workers never run out of work.');
  }

  /** Deletes everything, for the next sequence. */
  async clear(): Promise<void> {
    this.history = new History();
    this.broker.clear();
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
