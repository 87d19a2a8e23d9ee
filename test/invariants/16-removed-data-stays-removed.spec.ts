import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentChecks, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { RetentionWorker } from '../../libs/payment-acceptance/src/retention/retention.worker.js';
import { ON_MARIADB, onPostgres } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { holdUp } from '../support/hold-up.js';
import { until } from '../support/until.js';
import { billOf, Clerk, MASKED, paidWithTraces, payByCard, PERSON, placesOf, tell } from '../support/personal-data.js';

const DAY = 24 * 3_600_000;

describe('invariant 16: personal data that was removed stays removed, and the promise holds', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Clerk],
      options: {
        retention: { redactBillsAfterMs: 60 * DAY, redactCallbacksAfterMs: null, deleteCallbacksAfterMs: null },
      },
    });
  });
  afterEach(async () => {
    const places = await Promise.all([PERSON, MASKED].map((text) => placesOf(harness.host.dataSource, text)));
    expect(places).toEqual([[], []]);
  });
  afterAll(() => harness.close());

  const operations = () => harness.host.app.get(PaymentOperations);
  const erase = (orderId: string) => operations().eraseOrder({ orderId }, { operator: 'ann' });
  const check = (billId: string) => harness.host.app.get(PaymentChecks).check(billId);
  const outcomes = (orderId: string) => Clerk.of(orderId).map(({ name }) => name);

  /** Settles what is due once a bill may be checked again. */
  async function settleLater(): Promise<void> {
    harness.clock.advance(60_000);
    await harness.settle();
  }

  /** The time of all bills passes, and their data with it. */
  async function age(): Promise<void> {
    for (let days = 0; days < 65; days += 5) {
      harness.clock.advance(5 * DAY);
      await harness.settle();
    }
    await harness.host.app.get(RetentionWorker).runOnce();
  }

  test.each(['erased', 'redacted by age'])(
    'a late payment of a bill that was %s makes one event, marked as redacted',
    async (how) => {
      const orderId = `late-${how.slice(0, 6)}`;
      const billId = await billOf(harness, orderId);
      await (how === 'erased' ? erase(orderId) : age());
      await payByCard(harness, billId);
      await harness.settle();
      await check(billId);
      // A card number keeps a callback out of the statement that stores several at once.
      for (const custom of [undefined, undefined, '4111 1111 1111 1111']) {
        expect(await tell(harness, orderId, billId, custom)).toBe(200);
      }
      await harness.settle();
      const [paid, ...others] = Clerk.of(orderId).filter(({ name }) => name === 'payment.succeeded');
      expect(others).toEqual([]);
      expect(paid).toMatchObject({
        amount: '10.00',
        custom: null,
        fromCard: null,
        redacted: true,
        firstForOrder: true,
      });
      const { callbacks } = await harness.host.ledger();
      const own = callbacks.filter((callback) => callback.orderId === orderId);
      for (const { corroboration } of own) {
        expect(corroboration).toEqual({ order: 'match', amount: 'match', currency: 'match' });
      }
      expect(own.length).toBeGreaterThan(1);
    },
  );

  test('a second payment of an erased bill is an event of its own and a review', async () => {
    const billId = await paidWithTraces(harness, 'second');
    await erase('second');
    await payByCard(harness, billId);
    await settleLater();
    const { reviews } = await harness.host.ledger();
    expect(reviews.filter(({ orderId }) => orderId === 'second')).toMatchObject([{ reason: 'second-payment' }]);
    expect(Clerk.of('second')).toMatchObject([{ firstForOrder: false, redacted: true, custom: null, fromCard: null }]);
  });

  test('a failed and then a successful payment of an erased bill are both delivered, in order', async () => {
    const billId = await billOf(harness, 'failed');
    await erase('failed');
    await payByCard(harness, billId, 'fail');
    await harness.settle();
    await payByCard(harness, billId);
    await settleLater();
    expect(outcomes('failed')).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test('a dead letter that is replayed after the erasure is delivered once, without invented values', async () => {
    await paidWithTraces(harness, 'dead');
    await erase('dead');
    expect(await operations().replay({ orderId: 'dead' }, { operator: 'ann' })).toBe(1);
    await harness.settle();
    expect(await operations().replay({ orderId: 'dead' }, { operator: 'ann' })).toBe(0);
    expect(Clerk.of('dead')).toMatchObject([
      { name: 'payment.succeeded', amount: '10.00', custom: null, fromCard: null, redacted: true },
    ]);
    expect((await harness.effects()).filter(({ orderId }) => orderId === 'dead')).toHaveLength(1);
  });

  test('an error of a handler is stored without personal text if its order was erased meanwhile', async () => {
    const billId = await billOf(harness, 'under way');
    await payByCard(harness, billId);
    const free = `SELECT intent_id FROM payment_acceptance.bill WHERE order_id = 'under way' FOR UPDATE SKIP LOCKED`;
    let erased: Promise<unknown> = Promise.resolve();
    Clerk.meanwhile = () => {
      erased = erase('under way');
      if (!ON_MARIADB) return erased;
      // MariaDB's erasure waits for the end of the attempt.
      return until(
        () => harness.host.dataSource.query<object[]>(free),
        (bills) => bills.length === 0,
      );
    };
    Clerk.refused.add('under way');
    await harness.settle();
    await erased;
    Clerk.refused.clear();
    const [letter] = await operations().deadLetters({ orderId: 'under way' });
    expect(letter).toMatchObject({ consumer: 'clerk' });
    expect(await placesOf(harness.host.dataSource, PERSON)).toEqual([]);
  });

  test("an error of a check after the erasure is stored without the service's text", async () => {
    const billId = await billOf(harness, 'unchecked');
    await erase('unchecked');
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    expect(await tell(harness, 'unchecked', billId)).toBe(200);
    harness.clock.advance(60_000);
    await harness.host.confirmer.runOnce();
    await harness.sandbox.clearFaults();
    const failed = `SELECT last_check_error AS error FROM payment_acceptance.bill WHERE failed_checks = 1 AND order_id = 'unchecked'`;
    expect(await harness.host.dataSource.query(failed)).toEqual([{ error: null }]);
    await settleLater();
  });

  test.each(['replay', 'deliverPastEvents'] as const)(
    "the operator's note on a %s of one order is removed with the order",
    async (action) => {
      const orderId = `note of ${action}`;
      await billOf(harness, orderId);
      const filter = { orderId, consumer: 'clerk' };
      await operations()[action](filter, { operator: 'ann', note: `as ${PERSON} asked` });
      await operations()
        .forShop('main')
        [action](filter, { operator: 'ann', note: `as ${PERSON} asked` });
      expect(await placesOf(harness.host.dataSource, PERSON)).toContain('operator_action.detail');
      expect((await erase(orderId)).removed).toMatchObject({ notes: 2 });
    },
  );

  onPostgres(test)('a callback stored while its bill is being erased loses its fields at the next check', async () => {
    const billId = await billOf(harness, 'racing');
    const held = await holdUp(harness.host.dataSource, 'callback');
    const told = tell(harness, 'racing', billId);
    await held.reached(1);
    await erase('racing');
    await held.letGo();
    expect(await told).toBe(200);
    expect(await placesOf(harness.host.dataSource, PERSON)).toEqual(['callback.fields']);
    await harness.settle();
  });
});
