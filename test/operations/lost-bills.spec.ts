import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import {
  OperatorActionError,
  PaymentHealthIndicator,
  PaymentOperations,
  type LostBill,
} from 'nestjs-payment-acceptance/operations';
import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import type { ServiceRequestInfo } from 'nestjs-payment-acceptance';
import { startHarness, type Harness, type Instance } from '../support/harness.js';
import { postbackFields, postForm } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** As long as a creation may be under way. */
const CREATION = 2 * MINUTE;

/** At most one each five minutes. */
const PER_HOUR = 12;

let harness: Harness;
/** Bills that the service was asked for. */
let asked: string[] = [];
/** What an older integration says to postbacks of bills that are not ours. */
let accepts: (billId: string) => boolean;

describe('lost bills', () => {
  beforeAll(async () => {
    harness = await startHarness({
      instances: 2,
      providers: [EffectWriter],
      options: {
        http: {
          attempts: 1,
          hooks: {
            beforeRequest: ({ operation, url }: ServiceRequestInfo) => {
              if (operation === 'listPayments') asked.push(new URL(url).searchParams.get('id')!);
            },
          },
        },
        callbacks: { inquiriesPerHour: PER_HOUR, forwardUnknown: ({ billId }) => Promise.resolve(accepts(billId)) },
      },
    });
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    // An hour on: whatever was asked before takes no turn from what comes.
    harness.clock.advance(HOUR);
    await harness.host.dataSource.query('TRUNCATE payment_acceptance.lost_bill, payment_acceptance.callback');
    await harness.sandbox.clearFaults();
    asked = [];
    accepts = () => false;
  });

  const operations = (): PaymentOperations => harness.host.app.get(PaymentOperations);
  const inquire = (instance: Instance = harness.host): Promise<number> => instance.app.get(BillInquiry).runOnce();
  const post = async (TrsId: string, InvId = `order of ${TrsId}`): Promise<void> => {
    const { status } = await postForm(
      `${harness.host.url}/postback/payment`,
      postbackFields({ InvId, OutSum: '10.00', TrsId }),
    );
    expect(status).toBe(200);
  };
  const health = async () =>
    (await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments')).payments.degraded;

  /** The service has made a bill, and a payer has paid it; the commits of all that were lost. */
  async function lose(
    orderId: string,
    pay: Parameters<Harness['sandbox']['pay']>[1] = {},
    shop: 'main' | 'eu' = 'main',
  ) {
    const { billId, intentId } = await harness.host.payments.shop(shop).createBill({ orderId, amount: '10' });
    await harness.host.dataSource.query('DELETE FROM payment_acceptance.bill WHERE id = $1', [intentId]);
    await harness.host.dataSource.query('DELETE FROM payment_acceptance.shop_order WHERE order_id = $1', [orderId]);
    await harness.sandbox.pay(billId, pay);
    await harness.sandbox.settled();
    return billId;
  }

  /** Asks whenever it is the time, of all instances, for so long. */
  async function inquireFor(durationMs: number, stepMs = MINUTE): Promise<void> {
    for (let passed = 0; passed < durationMs; passed += stepMs) {
      harness.clock.advance(stepMs);
      await Promise.all(harness.instances.map((instance) => inquire(instance)));
    }
  }

  /** A lost bill that the service has confirmed. */
  async function find(orderId: string): Promise<LostBill> {
    const billId = await lose(orderId);
    harness.clock.advance(CREATION);
    expect(await inquire()).toBe(1);
    const [lost] = await operations().lostBills();
    expect(lost).toMatchObject({ billId });
    return lost!;
  }

  test('a bill that the service confirms counts as lost, with what it lists and the order unverified', async () => {
    const billId = await lose('forgotten');
    expect(await inquire()).toBe(0); // its creation might be under way
    harness.clock.advance(CREATION);
    expect(await inquire()).toBe(1);
    expect(asked).toEqual([billId]);
    expect(await operations().lostBills()).toEqual([
      {
        id: expect.any(String),
        shop: 'main',
        billId,
        namedOrderId: 'forgotten',
        namedOrders: 1,
        unknownIntentId: null,
        payments: [
          expect.objectContaining({
            status: 'SUCCESS',
            amount: '10.00',
            currency: 'RUB',
            createdAt: expect.any(String),
          }),
        ],
        listed: 1,
        firstPostbackAt: expect.any(String),
        foundAt: expect.any(String),
        askedAt: expect.any(String),
      },
    ]);
    expect(await operations().stats()).toMatchObject({ lostBills: 1 });
    await until(health, (degraded) => degraded.includes('lost-bills'));
    // Nothing follows from it by itself.
    await harness.settle();
    const { bills, events } = await harness.host.ledger();
    expect([bills, events].flat().filter((row) => row.billId === billId)).toEqual([]);
  });

  test('is taken in for the order that a person confirms, and settles like any other', async () => {
    const lost = await find('told by nobody');
    const told = { amount: '10.00', operator: 'ann', note: 'found in the order book' };
    await expect(operations().takeInLostBill(lost.id, { ...told, orderId: '' })).rejects.toBeInstanceOf(
      OperatorActionError,
    );
    await operations().takeInLostBill(lost.id, { ...told, orderId: 'confirmed' });
    expect(await operations().stats()).toMatchObject({ lostBills: 0 });
    await harness.settle();
    expect(await harness.effects()).toContainEqual(expect.objectContaining({ orderId: 'confirmed' }));
    const bill = (await harness.host.ledger()).bills.find(({ billId }) => billId === lost.billId);
    expect(bill).toMatchObject({ orderId: 'confirmed', state: 'PAID' });
    expect(await actionsOn(bill!.intentId)).toEqual([
      { operator: 'ann', action: 'import-bill', detail: expect.objectContaining({ note: 'found in the order book' }) },
    ]);
    await expect(operations().takeInLostBill(lost.id, { ...told, orderId: 'again' })).rejects.toThrow(/no lost bill/);
  });

  test('is dismissed with a note, and neither counts nor is asked for again', async () => {
    const lost = await find('of the till');
    await expect(operations().dismissLostBill(lost.id, 'ann', ' ')).rejects.toThrow(/note/);
    await operations().dismissLostBill(lost.id, 'ann', 'made by the till');
    expect(await operations().stats()).toMatchObject({ lostBills: 0 });
    expect(await actionsOn(lost.id)).toEqual([
      {
        operator: 'ann',
        action: 'dismiss-lost-bill',
        detail: { shop: 'main', serviceBillId: lost.billId, note: 'made by the till' },
      },
    ]);
    asked = [];
    await post(lost.billId, 'another try');
    await inquireFor(2 * DAY, HOUR);
    expect(asked).toEqual([]);
  });

  test('is to an operator of another shop as if it were not there', async () => {
    const lost = await find('of main');
    const eu = operations().forShop('eu');
    expect(await eu.lostBills()).toEqual([]);
    expect(await eu.stats()).toMatchObject({ lostBills: 0 });
    await expect(eu.dismissLostBill(lost.id, 'bob', 'not mine')).rejects.toThrow(/no lost bill/);
    await expect(eu.takeInLostBill(lost.id, { orderId: 'x', amount: '10', operator: 'bob' })).rejects.toThrow(
      /no lost bill/,
    );
    expect(await operations().forShop('main').lostBills()).toHaveLength(1);
    expect(await operations().lostBills(1, lost.id)).toEqual([]);
  });

  test('that is attached to its unknown outcome counts no longer', async () => {
    await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    const unknown = await harness.host.payments
      .createBill({ orderId: 'unheard', amount: '10' })
      .catch((error: unknown) => error);
    const { intentId } = unknown as { intentId: string };
    await harness.sandbox.clearFaults();
    const { id: billId } = harness.sandbox.bills().find(({ custom }) => custom === intentId)!;
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(CREATION);
    await inquire();
    expect(await operations().lostBills()).toMatchObject([{ billId, unknownIntentId: intentId }]);
    await operations().attachBill(intentId, billId, 'ann');
    expect(await operations().lostBills()).toEqual([]);
    await harness.settle();
  });

  test('says when its postbacks name different orders', async () => {
    const billId = await lose('genuine');
    await post(billId, 'somebody else’s');
    harness.clock.advance(CREATION);
    await inquire();
    expect(await operations().lostBills()).toMatchObject([{ billId, namedOrderId: 'genuine', namedOrders: 2 }]);
  });

  test('keeps up with what the service lists', async () => {
    const billId = await lose('twice', { outcome: 'fail' });
    harness.clock.advance(CREATION);
    await inquire();
    expect(await operations().lostBills()).toMatchObject([{ billId, listed: 1, payments: [{ status: 'FAIL' }] }]);
    await harness.sandbox.pay(billId);
    // Also where the lot falls on a bill that was never asked for, and there is none.
    const lots = harness.instances.map(({ app }) =>
      jest.spyOn(app.get(PaymentRandom), 'fraction').mockReturnValue(0.9),
    );
    await inquireFor(HOUR, 4 * MINUTE);
    for (const lot of lots) lot.mockRestore();
    expect(await operations().lostBills()).toMatchObject([
      { billId, listed: 2, payments: [{ status: 'SUCCESS' }, { status: 'FAIL' }] },
    ]);
  });

  describe('a made-up postback', () => {
    test('wakes nobody, and its bill is asked for a few times, further and further apart', async () => {
      await post('made-up');
      await inquireFor(HOUR, 2 * MINUTE);
      expect(asked).toHaveLength(2);
      await inquireFor(30 * DAY, 6 * HOUR);
      expect(asked).toEqual(Array(6).fill('made-up'));
      expect(await operations().stats()).toMatchObject({ lostBills: 0 });
      await harness.settle(); // its postback has waited for thirty days
      harness.clock.advance(61 * DAY);
      await inquire();
      expect(await harness.host.dataSource.query('SELECT 1 FROM payment_acceptance.lost_bill')).toEqual([]);
    });

    test('with an id that the service cannot have made is not asked for', async () => {
      for (const id of ['with a space', 'ümlaut']) await post(id);
      await post('plain');
      await inquireFor(30 * MINUTE, 2 * MINUTE);
      expect(new Set(asked)).toEqual(new Set(['plain']));
    });

    test('that names the bill of another shop finds nothing', async () => {
      const billId = await lose('of eu', {}, 'eu');
      await harness.host.dataSource.query('TRUNCATE payment_acceptance.callback');
      await post(billId);
      await inquireFor(HOUR);
      expect(asked).toContain(billId);
      expect(await operations().lostBills()).toEqual([]);
    });

    test('by the thousand causes no more requests than are allowed, whoever asks, and hides no lost bill', async () => {
      for (let index = 0; index < 1_000; index += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, next) => post(`flood-${index + next}`)));
      }
      const billId = await lose('among many');
      await inquireFor(CREATION + HOUR, 2 * MINUTE);
      expect(asked.length).toBeGreaterThan(PER_HOUR / 2);
      expect(asked.length).toBeLessThanOrEqual(PER_HOUR + 1);
      expect(new Set(asked).size).toBeGreaterThan(asked.length / 2);
      expect(await operations().lostBills()).toMatchObject([{ billId }]);
    });
  });

  test('a check of a known bill waits for no inquiry, and takes no place from it', async () => {
    await post('slow-one');
    harness.clock.advance(CREATION);
    const other = (await harness.start()).app.get(BillInquiry);
    await harness.sandbox.setFaults({ requests: { slow: { p: 1, operation: 'payments', times: 1, ms: 60_000 } } });
    let ended = false;
    const inquiring = other.runOnce().finally(() => (ended = true));
    await until(
      () => operations().stats(),
      () => asked.includes('slow-one'),
    );
    const { billId } = await harness.host.payments.createBill({ orderId: 'healthy', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    const bill = (await harness.host.ledger()).bills.find((each) => each.billId === billId);
    expect([bill?.state, ended]).toEqual(['PAID', false]);
    await other.stop();
    await inquiring;
    // It counted before it was made: what ended it does not have it made at once again.
    expect(asked.filter((id) => id === 'slow-one')).toHaveLength(1);
    await inquireFor(9 * MINUTE, 3 * MINUTE);
    expect(asked.filter((id) => id === 'slow-one')).toHaveLength(1);
    await inquireFor(6 * MINUTE, 3 * MINUTE);
    expect(asked.filter((id) => id === 'slow-one')).toHaveLength(2);
  });

  test('an inquiry takes what the checks leave of the rate of the shop', async () => {
    const rate = (since: string) =>
      harness.host.dataSource.query('UPDATE payment_acceptance.shop_state SET next_request_at = $1', [since]);
    await post('left-over');
    harness.clock.advance(CREATION);
    await rate('2999-01-01');
    expect(await inquire()).toBe(0);
    await rate('1970-01-01');
    expect(await inquire()).toBe(1);
  });

  test('what an older integration has accepted is explained', async () => {
    accepts = (billId) => billId === 'theirs';
    await post('theirs');
    accepts = () => false;
    await post('theirs');
    await inquireFor(DAY, HOUR);
    expect(asked).toEqual([]);
  });

  test('a service that gives no answer is asked again, and one that refuses the shop is not asked', async () => {
    const billId = await lose('while it was away');
    harness.clock.advance(CREATION);
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    await inquire();
    await harness.sandbox.clearFaults();
    await inquireFor(15 * MINUTE);
    expect(await operations().lostBills()).toMatchObject([{ billId }]);
    await post('while-refused');
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.shop_state SET refused_since = now(), refused_reason = 'x' WHERE shop = 'main'`,
    );
    asked = [];
    await inquireFor(HOUR);
    expect(asked).toEqual([]);
    await harness.host.dataSource.query(`UPDATE payment_acceptance.shop_state SET refused_since = NULL`);
  });

  test('postbacks wait for thirty days, and then no longer', async () => {
    await post('old');
    harness.clock.advance(29 * DAY);
    await harness.settle();
    expect(await operations().stats()).toMatchObject({ waitingCallbacks: 1 });
    harness.clock.advance(2 * DAY);
    await harness.settle();
    expect(await operations().stats()).toMatchObject({ waitingCallbacks: 0 });
  });

  async function actionsOn(target: string): Promise<object[]> {
    return harness.host.dataSource.query(
      'SELECT operator, action, detail FROM payment_acceptance.operator_action WHERE target = $1 ORDER BY at',
      [target],
    );
  }
});
