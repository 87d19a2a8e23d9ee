import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentChecks } from 'nestjs-payment-acceptance/operations';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { startHarness, type Harness } from '../support/harness.js';
import { Operator } from './support/operator.js';
import { Bookkeeper, forget, record } from './support/records.js';

const HOUR = 3_600_000;

let harness: Harness;
let operator: Operator;

describe('stale reviews', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register({ guardedElsewhere: true, operator: () => 'ann' })],
      options: { http: { attempts: 1 } },
    });
    operator = new Operator(`${harness.host.url}/payment-console`, {});
  });
  afterAll(() => harness.close());
  beforeEach(() => forget(harness));

  /** Makes the underpaid payment of `main-short` fail at the service, and has the bill checked. */
  async function reversed(): Promise<{ short: string; review: string; changed: string }> {
    const { short, review } = await record(harness, 'main');
    const { payments } = await harness.host.ledger();
    const { paymentId } = payments.find(({ orderId }) => orderId === 'main-short')!;
    await harness.sandbox.complete(paymentId, { outcome: 'fail', force: true });
    harness.clock.advance(8 * HOUR);
    await harness.settle();
    const changed = (await harness.host.ledger()).reviews.find(({ reason }) => reason === 'payment-changed')!.id;
    return { short, review, changed };
  }

  test('a review is shown beside the current state of the ledger', async () => {
    await record(harness, 'main');
    const { text } = await operator.open('reviews');
    expect(text).toMatch(/The service listed SUCCESS, 99\.00 RUB .*The ledger now has SUCCESS Payment .*Accept it if/);
    expect(text).not.toContain('listed later');
  });

  test('the reviews of a payment that was taken back can only be dismissed, not accepted', async () => {
    const { short, review, changed } = await reversed();
    for (const page of ['reviews', `bills/${short}`]) {
      const { text } = await operator.open(page);
      expect(text).toMatch(/listed SUCCESS, 99\.00 RUB The service listed later FAIL, .*cannot be accepted: dismiss\./);
      expect(text).not.toContain('Accept it');
    }
    for (const id of [review, changed]) {
      const { status, text } = await operator.open(`actions/accept-review/${id}`);
      expect([status, text]).toEqual([409, expect.stringMatching(/main-short does not count\. .*dismiss\./)]);
      await operator.confirm(`actions/dismiss-review/${id}`);
    }
    expect((await operator.open('reviews')).text).toContain('There are no open reviews.');
    expect((await harness.host.ledger()).events.map(({ orderId, name }) => `${orderId} ${name}`)).not.toContain(
      'main-short payment.succeeded',
    );
  });

  test('accepting a review from a form opened before the payment failed changes nothing, and says so', async () => {
    const { review } = await record(harness, 'main');
    const asked = await operator.open(`actions/accept-review/${review}`);
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.payment SET status = 'FAIL', verdict = 'failed' WHERE verdict = 'review'`,
    );
    const { status, text } = await operator.submit(asked);
    expect([status, text]).toEqual([409, expect.stringContaining('does not count')]);
    expect((await operator.open('reviews')).text).toMatch(/The ledger now has FAIL .*cannot be accepted: dismiss/);
  });

  test('a review of an order that was paid or cancelled meanwhile says so, and an earlier form is shown again', async () => {
    const { review } = await record(harness, 'main');
    const asked = await operator.open(`actions/accept-review/${review}`);
    await harness.host.payments.cancelOrder('main-short');
    const cancelled = await operator.submit(asked);
    expect([cancelled.status, cancelled.text]).toEqual([403, expect.stringContaining('before the order changed')]);
    expect(cancelled.text).toMatch(/The order was cancelled .*Or accept it and fulfil the order after all/);
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.shop_order SET first_payment_id = 'another' WHERE order_id = 'main-short'`,
    );
    const paid = await operator.submit(cancelled);
    expect([paid.status, paid.text]).toEqual([403, expect.stringContaining('The order is paid by payment another')]);
    expect(paid.text).toContain('already paid by another payment. Refund this one at the service');
    expect((await operator.submit(paid)).status).toBe(303);
  });

  test('a review of a payment that already counts says so', async () => {
    const { review, changed } = await reversed();
    await operator.confirm(`actions/dismiss-review/${changed}`);
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.payment SET verdict = 'succeeded' WHERE verdict = 'review'`,
    );
    expect((await operator.open('reviews')).text).toContain('The ledger now has SUCCESS, and it counts');
    expect((await operator.open(`actions/accept-review/${review}`)).text).toContain('so the review is only closed');
  });

  test('a failed payment of a bill that cannot be listed counts if the operator accepts it', async () => {
    const { billId, intentId } = await harness.host.payments.createBill({ orderId: 'late', amount: '10' });
    const checks = harness.host.app.get(PaymentChecks);
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await checks.check(billId);
    await harness.sandbox.setFaults({ requests: { tooManyPayments: { times: 1 } } });
    await expect(checks.check(billId)).rejects.toThrow();
    const ledger = await harness.host.ledger();
    const page = `actions/accept-review/${ledger.reviews.find(({ reason }) => reason === 'too-many-payments')!.id}`;
    const fields = { paymentId: ledger.payments.find((payment) => payment.billId === billId)!.paymentId, amount: '10' };
    expect((await operator.open(page)).text).toContain('Does the ledger say FAIL?');
    for (const [hadFailed, status, said] of [
      ['', 409, 'has failed: the ledger says FAIL'],
      ['perhaps', 400, 'enter yes or no, or leave the field empty'],
    ] as const) {
      const answer = await operator.submit(await operator.open(page), { ...fields, hadFailed });
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(said)]);
    }
    await operator.confirm(page, { ...fields, hadFailed: 'Yes' });
    expect((await harness.host.ledger()).bills.find((bill) => bill.intentId === intentId)!.state).toBe('PAID');
  });
});
