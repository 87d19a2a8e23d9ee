import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postJson } from '../support/http.js';
import { until } from '../support/until.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, type AttackedShop } from './support/attacked-shop.js';
import { sendForm } from './support/sending.js';

const DAY_MS = 86_400_000;
/** Minimum time between two checks of a bill. */
const GAP_MS = 2_000;
const FAILING = { card: '4000 0000 0000 0002' };

describe.each(ONE_ADAPTER)('races, on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  /** Runs several checks and deliveries concurrently with the given work. */
  async function rush(...attacks: Promise<unknown>[]): Promise<void> {
    const workers = Array.from({ length: 4 }, () => [shop.confirmer.runOnce(), shop.deliveries.runOnce()]).flat();
    await Promise.all([...attacks, ...workers]);
    await shop.settleHints();
    await shop.elapse(GAP_MS);
  }
  const succeeded = (paymentId: string, firstForOrder: boolean) => ({
    name: 'payment.succeeded',
    paymentId,
    firstForOrder,
  });
  async function eventsOf(orderId: string) {
    return shop.dataSource.query<{ name: string; paymentId: string; firstForOrder: boolean | null }[]>(
      `SELECT e.name, e.payload ->> 'paymentId' AS "paymentId", (e.payload ->> 'firstForOrder')::boolean AS "firstForOrder"
       FROM payment_acceptance.event e WHERE e.payload ->> 'orderId' = $1 ORDER BY e.seq`,
      [orderId],
    );
  }
  /** The result for an order: its state, the events it has received, and its open reviews. */
  async function told(orderId: string) {
    const { bills, reviews, events } = await shop.ledger();
    const { status, paidAmount, events: taken } = await shop.order(orderId);
    const deliveries = events.filter((event) => event.orderId === orderId).flatMap((event) => event.deliveries);
    expect(deliveries.filter(({ state, attempts }) => state !== 'DONE' || attempts !== 1)).toEqual([]);
    return {
      status,
      paidAmount,
      taken: taken.map(({ name }) => name),
      bills: bills.filter((bill) => bill.orderId === orderId).map(({ state }) => state),
      reviews: reviews.filter((review) => review.orderId === orderId).map(({ reason }) => reason),
    };
  }

  test('of two payments made on one bill at once, the second opens a review', async () => {
    const { id, billId } = await shop.buy();
    const payments = await Promise.all([shop.sandbox.pay(billId), shop.sandbox.pay(billId)]);
    await shop.sandbox.settled();
    await rush();
    expect(await told(id)).toEqual({
      status: 'paid',
      paidAmount: '100.05',
      taken: ['payment.succeeded', 'payment.succeeded'],
      bills: ['PAID'],
      reviews: ['second-payment'],
    });
    const [first, second] = (await eventsOf(id)).filter(({ name }) => name === 'payment.succeeded');
    expect([first, second]).toEqual([succeeded(first!.paymentId, true), succeeded(second!.paymentId, false)]);
    expect([first!.paymentId, second!.paymentId].sort()).toEqual(payments.map(({ payment }) => payment.id).sort());
  });

  test('two bills of one order, paid and checked at once, pay the order once, also for four orders together', async () => {
    const orders = await Promise.all(Array.from({ length: 4 }, () => shop.buy()));
    // The first bill has ended, so the shop creates a second one; the payer has both pages open.
    await shop.elapse(3 * DAY_MS + 1);
    const second = await Promise.all(
      orders.map(async ({ id }) => {
        const answer = await sendForm(`${shop.url}/orders/${id}/pay`, []);
        expect(answer.status).toBe(303);
        return answer.headers.get('location')!.split('/').at(-1)!;
      }),
    );
    const bills = [...orders.map(({ billId }) => billId), ...second];
    await Promise.all(bills.map((billId) => shop.sandbox.pay(billId)));
    await shop.sandbox.settled();
    shop.clock.advance(GAP_MS);
    const hold = shop.sandbox.holdAnswers('payments');
    const checks = shop.confirmer.runOnce();
    await hold.reached(bills.length);
    hold.release();
    await rush(checks);
    for (const { id } of orders) {
      const events = (await eventsOf(id)).filter(({ name }) => name === 'payment.succeeded');
      expect(events.map(({ firstForOrder }) => firstForOrder)).toEqual([true, false]);
      expect(await told(id)).toEqual({
        status: 'paid',
        paidAmount: '100.05',
        taken: ['payment.succeeded', 'payment.succeeded'],
        bills: ['PAID', 'PAID'],
        reviews: ['second-payment'],
      });
    }
  });

  test('postbacks, redirects and the schedule at the same instant, each many times, settle a payment once', async () => {
    const { id, billId } = await shop.buy();
    const { url, fields } = await shop.paySilently(billId);
    const [postback] = shop.sandbox.bill(billId).callbacks;
    shop.clock.advance(60_000);
    const copies = Array.from({ length: 20 }, () => [
      postJson(`${shop.url}/postback/payment`, postback!.fields),
      sendForm(url, fields),
    ]).flat();
    await rush(...copies);
    const statuses = (await Promise.all(copies)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 303]));
    expect((await eventsOf(id)).map(({ firstForOrder }) => firstForOrder)).toEqual([true]);
    expect(await told(id)).toEqual({
      status: 'paid',
      paidAmount: '100.05',
      taken: ['payment.succeeded'],
      bills: ['PAID'],
      reviews: [],
    });
  });

  test('an order stays paid after a FAIL of another payment, of the same one, or in a forged postback', async () => {
    const { id, billId } = await shop.buy();
    const { payment } = await shop.sandbox.pay(billId);
    await shop.settle();
    await shop.elapse(GAP_MS);
    await shop.pay(billId, FAILING);
    await rush(shop.sandbox.forge(billId, { set: { Status: 'FAIL', InvId: id } }));
    const paid = { status: 'paid', paidAmount: '100.05', bills: ['PAID'] };
    const taken = ['payment.succeeded', 'payment.failed'];
    expect(await told(id)).toEqual({ ...paid, taken, reviews: [] });
    // The specification has no such change: a person decides about it, and nothing is revoked.
    await shop.sandbox.complete(payment.id, { outcome: 'fail', force: true });
    await rush();
    expect(await told(id)).toEqual({ ...paid, taken, reviews: ['payment-changed'] });
    expect((await shop.ledger()).payments).toContainEqual(
      expect.objectContaining({ paymentId: payment.id, status: 'SUCCESS' }),
    );
  });

  test('FAIL and SUCCESS in one answer leave the order first not paid, then paid, never the other way round', async () => {
    const { id, billId } = await shop.buy();
    await Promise.all([shop.sandbox.pay(billId), shop.sandbox.pay(billId, FAILING), shop.sandbox.pay(billId, FAILING)]);
    await rush();
    expect(await told(id)).toEqual({
      status: 'paid',
      paidAmount: '100.05',
      taken: ['payment.failed', 'payment.failed', 'payment.succeeded'],
      bills: ['PAID'],
      reviews: [],
    });
  });

  test('a SUCCESS after a FAIL of the same payment pays the order', async () => {
    const { id, billId } = await shop.buy();
    const { payment } = await shop.sandbox.pay(billId, FAILING);
    await shop.settle();
    expect(await told(id)).toMatchObject({ status: 'not_paid', taken: ['payment.failed'] });
    await shop.elapse(GAP_MS);
    await shop.sandbox.complete(payment.id, { outcome: 'success' });
    await rush();
    expect(await told(id)).toEqual({
      status: 'paid',
      paidAmount: '100.05',
      taken: ['payment.failed', 'payment.succeeded'],
      bills: ['PAID'],
      reviews: [],
    });
  });

  test.each([
    ['by its postback', (billId: string) => shop.pay(billId), 0],
    ['by nobody but the daily check', (billId: string) => shop.paySilently(billId), DAY_MS],
  ])('a SUCCESS after the bill has EXPIRED pays the order, reported %s', async (_name, pay, laterMs) => {
    const { id, billId } = await shop.buy();
    await shop.elapse(3 * DAY_MS + 1);
    expect(await told(id)).toMatchObject({ status: 'pending', bills: ['EXPIRED'], reviews: [] });
    await pay(billId);
    await shop.elapse(laterMs);
    await rush();
    expect((await eventsOf(id)).map(({ name }) => name)).toEqual(['bill.expired', 'payment.succeeded']);
    expect(await told(id)).toEqual({
      status: 'paid',
      paidAmount: '100.05',
      taken: ['payment.succeeded'],
      bills: ['PAID'],
      reviews: [],
    });
  });
});

test.each(ONE_ADAPTER)(
  'on %s, with everything at once and the workers running by themselves, every order is paid once',
  async (adapter) => {
    const shop = await startAttackedShop(adapter, { autoStart: true, options: { schedule: { minGapMs: 10 } } });
    try {
      const orders = await Promise.all(Array.from({ length: 10 }, () => shop.buy()));
      await Promise.all(
        orders.map(async ({ billId }) => {
          const { redirect } = await shop.sandbox.pay(billId);
          const [postback] = shop.sandbox.bill(billId).callbacks;
          await Promise.all(
            Array.from({ length: 5 }, () => [
              postJson(`${shop.url}/postback/payment`, postback!.fields),
              sendForm(redirect!.url, redirect!.fields),
            ]).flat(),
          );
        }),
      );
      await shop.sandbox.settled();
      const paid = await until(
        () => Promise.all(orders.map(({ id }) => shop.order(id))),
        (views) => views.every(({ status }) => status !== 'pending'),
      );
      expect(paid.map(({ status, paidAmount, events }) => [status, paidAmount, events.length])).toEqual(
        orders.map(() => ['paid', '100.05', 1]),
      );
      expect((await shop.ledger()).reviews).toEqual([]);
    } finally {
      await shop.close();
    }
  },
);
