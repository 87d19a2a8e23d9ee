import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentInvalidBillRequestError,
  PaymentOrderAlreadyPaidError,
  PaymentOrderCancelledError,
  PaymentOrderIdReusedError,
  PaymentUnknownShopError,
  type PaymentEvent,
} from 'nestjs-payment-acceptance';
import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { randomUUID } from 'node:crypto';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { clearLedger } from '../../libs/payment-acceptance/src/testing/clear-ledger.js';
import { startHarness, type Harness } from '../support/harness.js';

describe('a cancelled order', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.close());

  const payments = () => harness.host.payments;
  const bill = (orderId: string) => payments().createBill({ orderId, amount: '100.00' });
  const eventsOf = async (orderId: string): Promise<PaymentEvent[]> => {
    const events = await harness.host.dataSource.query<{ payload: PaymentEvent | string }[]>(
      'SELECT payload FROM payment_acceptance.event ORDER BY seq',
    );
    return events
      .map(({ payload }) => (typeof payload === 'string' ? (JSON.parse(payload) as PaymentEvent) : payload))
      .filter((event) => event.orderId === orderId);
  };
  const namesOf = async (orderId: string) => (await eventsOf(orderId)).map(({ name }) => name);
  const reviewsOf = async (orderId: string) =>
    (await harness.host.app.get(PaymentReviews).list()).filter((review) => review.orderId === orderId);

  test('a cancelled order gets no further bill, and its open one is not returned', async () => {
    const orderId = randomUUID();
    await bill(orderId);
    await payments().cancelOrder(orderId);
    await payments().cancelOrder(orderId);
    await expect(bill(orderId)).rejects.toThrow(PaymentOrderCancelledError);
    const another = payments().createBill({ orderId, amount: '100.00' }, { newAttempt: true });
    await expect(another).rejects.toThrow(`Bill of order "${orderId}" of shop "main": the order is cancelled.`);
    expect(await payments().findBills(orderId)).toHaveLength(1);
  });

  test('an order without a bill can be cancelled', async () => {
    const orderId = randomUUID();
    await payments().cancelOrder(orderId);
    await expect(bill(orderId)).rejects.toThrow(PaymentOrderCancelledError);
  });

  test.each(['', 'two\nlines', 'x'.repeat(256), 7 as unknown as string])(
    'cancelOrder refuses the invalid order id %j',
    async (id) => {
      await expect(payments().cancelOrder(id)).rejects.toThrow(PaymentInvalidBillRequestError);
    },
  );

  test('cancelling an order in one shop does not affect the same id in another', async () => {
    const orderId = randomUUID();
    await payments().shop('eu').cancelOrder(orderId);
    expect(await bill(orderId)).toMatchObject({ orderId, attempt: 1 });
  });

  test.each([
    ['as it was billed', {}],
    ['with more than was billed', { amount: '120.00' }],
  ])('a payment of a cancelled order %s is a review, and no payment.succeeded', async (_how, paid) => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId);
    await payments().cancelOrder(orderId);
    await harness.sandbox.pay(billId, paid);
    await harness.settle();
    expect(await namesOf(orderId)).toEqual(['payment.review']);
    expect(await reviewsOf(orderId)).toMatchObject([{ reason: 'order-cancelled' }]);
    await expect(bill(orderId)).rejects.toThrow(PaymentOrderCancelledError);
  });

  test('a payment of a cancelled order with too little is a review of the amount', async () => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId);
    await payments().cancelOrder(orderId);
    await harness.sandbox.pay(billId, { amount: '60.00' });
    await harness.settle();
    expect(await reviewsOf(orderId)).toMatchObject([{ reason: 'underpaid' }]);
  });

  test('a payment of a cancelled order that a person accepts makes the order paid', async () => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId);
    await payments().cancelOrder(orderId);
    await harness.sandbox.pay(billId);
    await harness.settle();
    const [review] = await reviewsOf(orderId);
    await harness.host.app.get(PaymentReviews).accept(review!.id, { operator: 'ann' });
    await harness.settle();
    expect(await eventsOf(orderId)).toMatchObject([
      { name: 'payment.review' },
      { name: 'payment.succeeded', acceptedBy: 'ann', firstForOrder: true, billState: 'PAID' },
    ]);
    await expect(bill(orderId)).rejects.toThrow(PaymentOrderAlreadyPaidError);
    await expect(payments().cancelOrder(orderId)).rejects.toThrow(PaymentOrderAlreadyPaidError);
  });

  test('a paid order cannot be cancelled', async () => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId);
    await harness.sandbox.pay(billId);
    await harness.settle();
    await expect(payments().cancelOrder(orderId)).rejects.toThrow(PaymentOrderAlreadyPaidError);
    expect(await namesOf(orderId)).toEqual(['payment.succeeded']);
  });

  test('an order paid and cancelled at the same moment is one or the other', async () => {
    const orders = Array.from({ length: 30 }, () => randomUUID());
    const bills = await Promise.all(orders.map(bill));
    for (const { billId } of bills) await harness.sandbox.pay(billId);
    const [, ...cancelled] = await Promise.all([
      harness.settle(),
      ...orders.map((orderId) =>
        payments()
          .cancelOrder(orderId)
          .then(
            () => true,
            (error: unknown) => {
              expect(error).toBeInstanceOf(PaymentOrderAlreadyPaidError);
              return false;
            },
          ),
      ),
    ]);
    await harness.settle();
    for (const [index, orderId] of orders.entries()) {
      expect(await namesOf(orderId)).toEqual([cancelled[index] ? 'payment.review' : 'payment.succeeded']);
    }
  });
});

describe('cancelling an order of an unknown shop', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({
      options: { shopResolver: { find: () => Promise.resolve(null), list: () => Promise.resolve([]) } },
    });
  });
  afterAll(() => harness.close());

  test('cancelOrder refuses a shop that the resolver does not have', async () => {
    await expect(harness.host.payments.shop('mian').cancelOrder('A-1')).rejects.toThrow(PaymentUnknownShopError);
  });
});

describe('an order id that is used again', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.close());

  /** An hour after what the ledger knows. */
  const later = () => {
    harness.clock.advance(3_600_000);
    return harness.clock.now();
  };
  const bill = (orderId: string, orderedAt: Date) =>
    harness.host.payments.createBill({ orderId, amount: '100.00', orderedAt });

  test("a new order under a used id does not get the older order's link", async () => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId, harness.clock.now());
    expect(await bill(orderId, new Date(Date.now() - 3_600_000))).toMatchObject({ billId });
    await expect(bill(orderId, later())).rejects.toThrow(PaymentOrderIdReusedError);
    await expect(bill(orderId, later())).rejects.toThrow('Order ids must never be reused');
  });

  test("a new order under a paid order's id is refused as a reused id", async () => {
    const orderId = randomUUID();
    const orderedAt = harness.clock.now();
    const { billId } = await bill(orderId, orderedAt);
    await harness.sandbox.pay(billId);
    await harness.settle();
    await expect(bill(orderId, later())).rejects.toThrow(PaymentOrderIdReusedError);
    await expect(bill(orderId, orderedAt)).rejects.toThrow(PaymentOrderAlreadyPaidError);
  });

  test("a new order under a cancelled order's id is refused as a reused id", async () => {
    const orderId = randomUUID();
    const orderedAt = harness.clock.now();
    await harness.host.payments.cancelOrder(orderId);
    await expect(bill(orderId, later())).rejects.toThrow(PaymentOrderIdReusedError);
    await expect(bill(orderId, orderedAt)).rejects.toThrow(PaymentOrderCancelledError);
  });

  test('an order id can be used again once the ledger is empty', async () => {
    const orderId = randomUUID();
    const { billId } = await bill(orderId, harness.clock.now());
    await harness.sandbox.pay(billId);
    await harness.settle();
    await clearLedger(harness.host.app.get(Database, { strict: false }));
    expect(await bill(orderId, harness.clock.now())).toMatchObject({ attempt: 1 });
    expect(await harness.host.payments.findBills(orderId)).toHaveLength(1);
  });

  test('createBill refuses an orderedAt in the future', async () => {
    const orderId = randomUUID();
    const tomorrow = new Date(harness.clock.now().getTime() + 86_400_000);
    await expect(bill(orderId, tomorrow)).rejects.toThrow('orderedAt is in the future');
    expect(await harness.host.payments.findBills(orderId)).toEqual([]);
  });

  test.each([new Date(NaN), '2026-01-01' as unknown as Date])(
    'createBill refuses an orderedAt that is no date: %s',
    async (orderedAt) => {
      await expect(bill(randomUUID(), orderedAt)).rejects.toThrow('orderedAt must be a Date.');
    },
  );
});
