import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentOperatorActionError,
  PaymentChecks,
  PaymentReviews,
  type BillCheck,
} from 'nestjs-payment-acceptance/operations';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

const DAY = 86_400_000;

let recorded: RecordedHarness;
let reviews: PaymentReviews;
let count = 0;

describe('reviews of payments that have changed', () => {
  beforeAll(async () => {
    recorded = await startRecordedHarness();
    reviews = recorded.harness.host.app.get(PaymentReviews);
  });
  afterAll(() => recorded.close());

  interface Bill {
    readonly orderId: string;
    readonly billId: string;
    readonly paymentId: string;
  }

  /** A bill over 100.00 whose payment the service will list. */
  async function billed(): Promise<Bill> {
    count += 1;
    const bill = { orderId: `S-${count}`, billId: `bill-${count}`, paymentId: `payment-${count}` };
    recorded.recorder.answer(createdBill(bill.billId));
    await recorded.harness.host.payments.createBill({ orderId: bill.orderId, amount: '100' });
    return bill;
  }

  /** Has the service list the payment like this, then checks the bill. */
  async function shows(bill: Bill, status: string, amount: string, more: object = {}): Promise<BillCheck> {
    const payment = { id: bill.paymentId, bill_id: bill.billId, status, amount, currency_in: 'RUB', ...more };
    recorded.recorder.answer({ body: JSON.stringify({ success: true, data: [payment] }) });
    return recorded.harness.host.app.get(PaymentChecks).check(bill.billId);
  }

  /** Has the service refuse to list the bill, then checks it. */
  async function refusesToList({ billId }: Bill): Promise<void> {
    recorded.recorder.answer({ status: 400, body: '{"message":"api:error.too_many_payments"}' });
    await expect(recorded.harness.host.app.get(PaymentChecks).check(billId)).rejects.toMatchObject({
      code: 'too-many-payments',
    });
  }

  const of = async ({ orderId }: Bill) => {
    const ledger = await recorded.harness.host.ledger();
    const own = <T extends { orderId: string }>(rows: readonly T[]) => rows.filter((row) => row.orderId === orderId);
    return {
    state: own(ledger.bills)[0]!.state,
    open: own(ledger.reviews).flatMap(({ reason, state }) => (state === 'OPEN' ? [reason] : [])).sort(),
    events: own(ledger.events).map(({ name }) => name).sort(),
    review: (reason: string) => own(ledger.reviews).find((review) => review.reason === reason)!.id,
  }; // prettier-ignore
  };
  const accept = async (bill: Bill, reason: string, more: object = {}) =>
    reviews.accept((await of(bill)).review(reason), { operator: 'ann', ...more });
  const dismiss = async (bill: Bill, reason: string) =>
    reviews.dismiss((await of(bill)).review(reason), { operator: 'ann' });

  /** Expects the acceptance to be refused with advice, and nothing to have changed. */
  async function refused(bill: Bill, reason: string, said: RegExp, more: object = {}): Promise<void> {
    const before = await of(bill);
    const error: unknown = await accept(bill, reason, more).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaymentOperatorActionError);
    expect((error as Error).message).toMatch(said);
    const after = await of(bill);
    expect({ ...after, review: null }).toEqual({ ...before, review: null });
    expect(after.events).not.toContain('payment.succeeded');
  }

  describe('a payment that has failed since', () => {
    test.each([
      ['unfinished', 'PROCESS'],
      ['unknown-status', 'HELD'],
    ])('a payment under review (%s) that then fails cannot be accepted, only dismissed', async (reason, status) => {
      const bill = await billed();
      await shows(bill, status, '100.00');
      recorded.harness.clock.advance(40 * DAY);
      await shows(bill, status, '100.00');
      expect(await of(bill)).toMatchObject({ open: [reason], events: ['bill.expired', 'payment.review'] });
      await shows(bill, 'FAIL', '100.00');
      await refused(bill, reason, /the ledger says FAIL.* Dismiss the review.* check the bill/);
      await dismiss(bill, reason);
      expect(await of(bill)).toMatchObject({ open: [], events: ['bill.expired', 'payment.failed', 'payment.review'] });
    });

    test('a payment listed as FAIL is not accepted by a too-many-payments review of its bill', async () => {
      const bill = await billed();
      await shows(bill, 'FAIL', '100.00');
      await refusesToList(bill);
      const named = { paymentId: bill.paymentId, amount: '100' };
      await refused(bill, 'too-many-payments', /the ledger says FAIL.* cannot list it, set "hadFailed"/, named);
      await accept(bill, 'too-many-payments', { ...named, paymentId: 'another' });
      expect(await of(bill)).toMatchObject({ state: 'PAID', events: expect.arrayContaining(['payment.succeeded']) });
    });

    test('a payment listed as FAIL is accepted by a review of its bill if the operator states hadFailed', async () => {
      const bill = await billed();
      await shows(bill, 'FAIL', '100.00');
      await refusesToList(bill);
      await accept(bill, 'too-many-payments', { paymentId: bill.paymentId, amount: '100', hadFailed: true });
      expect(await of(bill)).toMatchObject({ state: 'PAID', events: expect.arrayContaining(['payment.succeeded']) });
      // A list that shows it like this no longer changes anything.
      await shows(bill, 'SUCCESS', '100.00');
      const { events, open } = await of(bill);
      expect([events.filter((name) => name === 'payment.succeeded'), open]).toEqual([['payment.succeeded'], []]);
    });

    test('a payment accepted with hadFailed is reviewed again if a list still says FAIL', async () => {
      const bill = await billed();
      await shows(bill, 'FAIL', '100.00');
      await refusesToList(bill);
      await accept(bill, 'too-many-payments', { paymentId: bill.paymentId, amount: '100', hadFailed: true });
      await shows(bill, 'FAIL', '100.00');
      await shows(bill, 'FAIL', '100.00');
      expect(await of(bill)).toMatchObject({ state: 'PAID', open: ['payment-changed'] });
      const [{ detail } = { detail: {} }] = await recorded.harness.host.dataSource.query<{ detail: object }[]>(
        `SELECT detail FROM payment_acceptance.operator_action WHERE target = $1`,
        [(await of(bill)).review('too-many-payments')],
      );
      expect(detail).toMatchObject({ paymentId: bill.paymentId, hadFailed: true });
    });

    test('a FAIL payment is accepted by a later unknown-status review, unless the list says FAIL again', async () => {
      const bill = await billed();
      await shows(bill, 'FAIL', '100.00');
      await shows(bill, 'CONFIRMED', '100.00');
      await shows(bill, 'FAIL', '100.00');
      await refused(bill, 'unknown-status', /the ledger says FAIL/);
      await refused(bill, 'unknown-status', /the ledger says FAIL/, { hadFailed: true });
      await shows(bill, 'CONFIRMED', '100.00');
      recorded.harness.clock.advance(4 * DAY);
      await shows(bill, 'CONFIRMED', '100.00');
      const review = (await reviews.list()).find(({ orderId }) => orderId === bill.orderId);
      expect(review).toMatchObject({ ledgerStatus: 'UNKNOWN', detail: { listed: { status: 'CONFIRMED' } } });
      // Its order is not billed again meanwhile.
      expect(await of(bill)).toMatchObject({ state: 'OPEN', events: ['payment.failed', 'payment.review'] });
      await accept(bill, 'unknown-status');
      await shows(bill, 'CONFIRMED', '100.00');
      const counted = ['payment.failed', 'payment.review', 'payment.succeeded'];
      expect(await of(bill)).toMatchObject({ state: 'PAID', open: [], events: counted });
      await shows(bill, 'FAIL', '100.00');
      expect(await of(bill)).toMatchObject({ state: 'PAID', open: ['payment-changed'] });
    });

    test('a dismissed review no longer keeps its bill open', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '1.00');
      recorded.harness.clock.advance(4 * DAY);
      await shows(bill, 'SUCCESS', '1.00');
      expect(await of(bill)).toMatchObject({ state: 'OPEN', open: ['underpaid'] });
      await dismiss(bill, 'underpaid');
      await shows(bill, 'SUCCESS', '1.00');
      expect(await of(bill)).toMatchObject({ state: 'EXPIRED', open: [] });
    });

    test('a long list does not end its bill before its last part', async () => {
      const bill = await billed();
      const entry = (number: number, status: string) => ({
        id: `${bill.paymentId}-${number}`,
        bill_id: bill.billId,
        status,
        amount: '100.00',
        currency_in: 'RUB',
      });
      const data = [...Array.from({ length: 700 }, (_, number) => entry(number, 'FAIL')), entry(700, 'SUCCESS')];
      recorded.harness.clock.advance(4 * DAY);
      recorded.recorder.answer({ body: JSON.stringify({ success: true, data }) });
      await recorded.harness.host.app.get(PaymentChecks).check(bill.billId);
      const { state, events } = await of(bill);
      expect([state, new Set(events)]).toEqual(['PAID', new Set(['payment.failed', 'payment.succeeded'])]);
    });

    test('a payment listed as FAIL is not accepted by its own review, even with hadFailed', async () => {
      const bill = await billed();
      await shows(bill, 'PROCESS', '100.00');
      recorded.harness.clock.advance(40 * DAY);
      await shows(bill, 'PROCESS', '100.00');
      await shows(bill, 'FAIL', '100.00');
      await refused(bill, 'unfinished', /the ledger says FAIL/, { hadFailed: true });
    });

    test('a payment under review that then fails is accepted by neither of its reviews', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '50.00');
      await shows(bill, 'FAIL', '50.00');
      expect(await of(bill)).toMatchObject({ open: ['payment-changed', 'underpaid'] });
      const said = /The service last listed payment \S+ as FAIL.* Dismiss the review/;
      await refused(bill, 'payment-changed', said);
      await refused(bill, 'payment-changed', said, { amount: '50' });
      await refused(bill, 'underpaid', said);
      await dismiss(bill, 'payment-changed');
      await refused(bill, 'underpaid', said);
      await dismiss(bill, 'underpaid');
      expect(await of(bill)).toMatchObject({ state: 'OPEN', open: [], events: ['payment.review', 'payment.review'] });
    });

    test('a payment under review that is then listed as "fail" in lower case is not accepted', async () => {
      const bill = await billed();
      await shows(bill, 'success', '50.00');
      await shows(bill, 'fail', '50.00');
      await refused(bill, 'payment-changed', /The service last listed payment \S+ as FAIL/);
    });

    test('a payment under review that failed is accepted once the service lists SUCCESS again', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '50.00');
      await shows(bill, 'FAIL', '50.00');
      await shows(bill, 'SUCCESS', '50.00');
      await shows(bill, 'FAIL', '50.00');
      await refused(bill, 'underpaid', /last listed payment \S+ as FAIL/);
      await shows(bill, 'SUCCESS', '50.00');
      await accept(bill, 'underpaid');
      expect(await of(bill)).toMatchObject({ state: 'PAID', events: expect.arrayContaining(['payment.succeeded']) });
    });

    test('accepting a payment-changed review of a payment that had counted only closes the review', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '100.00');
      await shows(bill, 'FAIL', '');
      await accept(bill, 'payment-changed');
      expect(await of(bill)).toMatchObject({
        state: 'PAID',
        open: [],
        events: ['payment.review', 'payment.succeeded'],
      });
    });
  });

  describe('a payment under review whose amount changes', () => {
    test('a changed amount is accepted by its payment-changed review, and the older review is then only closed', async () => {
      const bill = await billed();
      await shows(bill, 'PROCESS', '100.00');
      recorded.harness.clock.advance(40 * DAY);
      await shows(bill, 'PROCESS', '100.00');
      await shows(bill, 'SUCCESS', '50.00');
      const { review } = await of(bill);
      await refused(bill, 'unfinished', new RegExp(`SUCCESS, 50.00 RUB.*underpaid.*${review('underpaid')}`));
      await accept(bill, 'underpaid');
      await accept(bill, 'unfinished');
      const { events, open, state } = await of(bill);
      expect([state, open]).toEqual(['PAID', []]);
      expect(events.filter((name) => name === 'payment.succeeded')).toHaveLength(1);
      const [{ amount } = { amount: '' }] = await recorded.harness.host.dataSource.query<{ amount: string }[]>(
        `SELECT payload ->> 'amount' AS amount FROM payment_acceptance.event WHERE name = 'payment.succeeded'
       AND intent_id = (SELECT intent_id FROM payment_acceptance.bill WHERE order_id = $1)`,
        [bill.orderId],
      );
      expect(amount).toBe('50.00');
    });

    test('an amount corrected by the service counts as listed now, once its payment-changed review is accepted', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '50.00');
      await shows(bill, 'SUCCESS', '100.00');
      await refused(bill, 'underpaid', /SUCCESS, 100\.00 RUB.*payment-changed/);
      await accept(bill, 'payment-changed');
      expect(await of(bill)).toMatchObject({ state: 'PAID', open: ['underpaid'] });
      await shows(bill, 'SUCCESS', '100.00');
      expect(await of(bill)).toMatchObject({ open: ['underpaid'] });
      // It is the corrected amount that is in the ledger now.
      await shows(bill, 'SUCCESS', '50.00');
      expect(await of(bill)).toMatchObject({ state: 'PAID', open: ['payment-changed', 'underpaid'] });
      const { payments } = await recorded.harness.host.ledger();
      expect(payments.find(({ paymentId }) => paymentId === bill.paymentId)).toMatchObject({ amount: '100.00' });
    });
  });

  test('a check reports only the events that it has stored', async () => {
    const bill = await billed();
    await shows(bill, 'PROCESS', '100.00');
    recorded.harness.clock.advance(40 * DAY);
    const checks: string[][] = [];
    for (let check = 0; check < 3; check += 1) checks.push([...(await shows(bill, 'PROCESS', '100.00')).events]);
    expect(checks).toEqual([['payment.review', 'bill.expired'], [], []]);
  });

  describe('a payment that counted and changes again and again', () => {
    const changes = async (bill: Bill) => {
      const { events, reviews: all } = await recorded.harness.host.ledger();
      const own = all.filter(({ orderId, reason }) => orderId === bill.orderId && reason === 'payment-changed');
      const told = events.filter(({ orderId, name }) => orderId === bill.orderId && name === 'payment.review');
      expect(new Set(told.map(({ id }) => id)).size).toBe(own.length);
      return own.map(({ state }) => state);
    };
    const dismissAll = async () => {
      const { reviews: all } = await recorded.harness.host.ledger();
      for (const { id, state } of all) if (state === 'OPEN') await reviews.dismiss(id, { operator: 'ann' });
    };

    test.each([
      ['FAIL', '100.00'],
      ['SUCCESS', '90.00'],
      ['HELD', '100.00'],
    ])(
      'a payment that counted is reviewed each time that it becomes %s %s after a dismissal',
      async (status, amount) => {
        const bill = await billed();
        await shows(bill, 'SUCCESS', '100.00');
        await shows(bill, status, amount);
        await shows(bill, 'SUCCESS', '100.00');
        await shows(bill, status, amount);
        expect(await changes(bill)).toEqual(['OPEN']);
        await dismissAll();
        await shows(bill, status, amount);
        expect(await changes(bill)).toEqual(['DISMISSED']);
        for (const before of [1, 2, 3]) {
          await shows(bill, 'SUCCESS', '100.00');
          expect(await changes(bill)).toEqual(Array.from({ length: before }, () => 'DISMISSED'));
          await shows(bill, status, amount);
          await shows(bill, status, amount);
          expect((await changes(bill)).sort()).toEqual([...Array.from({ length: before }, () => 'DISMISSED'), 'OPEN']);
          await dismissAll();
        }
        expect((await of(bill)).events.filter((name) => name === 'payment.succeeded')).toHaveLength(1);
      },
    );

    test('a payment that counted is reviewed on every other bill that lists it', async () => {
      const [owner, ...others] = [await billed(), await billed(), await billed(), await billed()];
      await shows(owner, 'SUCCESS', '100.00');
      const { paymentId } = owner;
      for (const other of others) await shows(other, 'SUCCESS', '100.00', { id: paymentId });
      for (const other of others) expect(await of(other)).toMatchObject({ open: ['payment-moved'], state: 'OPEN' });
    });
  });

  describe('a payment listed for one bill with the bill_id of another', () => {
    test.each(['OPEN', 'PAID', 'EXPIRED'])('a payment listed with the bill_id of another %s bill of ours cannot be accepted for this one', async (state) => {
    const [bill, owner] = [await billed(), await billed()];
    if (state === 'PAID') await shows(owner, 'SUCCESS', '100.00');
    if (state === 'EXPIRED') recorded.harness.clock.advance(5 * DAY);
    if (state === 'EXPIRED') await shows(owner, 'FAIL', '100.00');
    expect(await of(owner)).toMatchObject({ state });
    await shows(bill, 'SUCCESS', '100.00', { id: `of-${owner.billId}`, bill_id: owner.billId });
    expect(await of(bill)).toMatchObject({ open: ['foreign-bill'] });
    await refused(bill, 'foreign-bill', new RegExp(`bill ${owner.billId}.*"${owner.orderId}".*Dismiss.*check that bill`));
    await dismiss(bill, 'foreign-bill');
    await shows(owner, 'SUCCESS', '100.00', { id: `of-${owner.billId}` });
    expect((await of(owner)).events).toContain('payment.succeeded');
    expect(await of(bill)).toMatchObject({ open: [] });
  }); // prettier-ignore

    test('a payment listed with the bill_id of no bill of ours can be accepted by a person', async () => {
      const bill = await billed();
      await shows(bill, 'SUCCESS', '100.00', { bill_id: 'of-another-system' });
      await accept(bill, 'foreign-bill');
      expect(await of(bill)).toMatchObject({ state: 'PAID', events: ['payment.review', 'payment.succeeded'] });
    });
  });
});
