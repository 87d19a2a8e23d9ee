import { afterEach, describe, expect, test } from '@jest/globals';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { startGate } from '../support/gate.js';
import { postForm } from '../support/http.js';
import { checksOf, pass } from './support/checks.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

let harness: Harness;

describe('checks', () => {
  const closeLater = closing();
  afterEach(() => harness.close());

  /** An instance whose shop `main` reaches the service through a gate. */
  const startBehindGate = async () => {
    harness = await startHarness();
    const gate = await startGate(harness.sandboxUrl);
    closeLater(() => gate.close());
    const { main, ...others } = moduleOptions(harness.sandboxUrl).shops;
    const { confirmer, payments } = await harness.start({
      options: { shops: { main: { ...main!, apiBaseUrl: gate.url }, ...others } },
    });
    return { gate, confirmer, payments };
  };

  describe('a bill at the end of its lifetime, whose postback says that it is paid', () => {
    const announced = async (beforeEndMs = SECOND) => {
      const { gate, confirmer, payments } = await startBehindGate();
      const { billId } = await payments.createBill({ orderId: 'late', amount: '10' });
      harness.clock.advance(3 * DAY - beforeEndMs);
      await confirmer.runOnce();
      return { gate, confirmer, payments, billId };
    };
    const pay = async (billId: string) => {
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
    };
    const states = async () => (await harness.host.ledger()).bills.map(({ state }) => state);

    test('an ending bill whose postback says paid stays open while the list lags, and is not billed again', async () => {
      const { gate, confirmer, payments, billId } = await announced();
      gate.lag();
      await pay(billId);
      harness.clock.advance(3 * SECOND);
      expect(await confirmer.runOnce()).toBe(1);
      expect(await states()).toEqual(['OPEN']);
      expect(await payments.createBill({ orderId: 'late', amount: '10' })).toMatchObject({ billId });
      gate.catchUp();
      harness.clock.advance(4 * SECOND);
      await confirmer.runOnce();
      expect(await states()).toEqual(['PAID']);
    });

    test('an ending bill stays open if a postback comes while its last list is being read', async () => {
      const { gate, confirmer, billId } = await announced();
      harness.clock.advance(3 * SECOND);
      gate.shut();
      const check = confirmer.runOnce();
      await gate.reached();
      await pay(billId);
      gate.open();
      await check;
      expect(await states()).toEqual(['OPEN']);
      harness.clock.advance(3 * SECOND);
      await confirmer.runOnce();
      expect(await states()).toEqual(['PAID']);
    });

    test('an ending bill whose postback says paid stays open during the last pause before a repeated check', async () => {
      const { gate, confirmer, payments, billId } = await announced(30 * SECOND);
      gate.lag();
      await pay(billId);
      for (const pauseMs of [0, 3, 4, 11, 15]) {
        harness.clock.advance(pauseMs * SECOND);
        await confirmer.runOnce();
        expect(await states()).toEqual(['OPEN']);
      }
      expect(await payments.createBill({ orderId: 'late', amount: '10' })).toMatchObject({ billId });
      gate.catchUp();
      harness.clock.advance(30 * SECOND);
      await confirmer.runOnce();
      expect(await states()).toEqual(['PAID']);
    });

    test('an ending bill expires if the list does not show the claimed payment after the last pause either', async () => {
      const { gate, confirmer, billId } = await announced();
      gate.lag();
      await pay(billId);
      for (const pauseMs of [3, 4, 11]) {
        harness.clock.advance(pauseMs * SECOND);
        await confirmer.runOnce();
        expect(await states()).toEqual(['OPEN']);
      }
      harness.clock.advance(31 * SECOND);
      await confirmer.runOnce();
      expect(await states()).toEqual(['EXPIRED']);
    });
  });

  describe('a claim of a postback', () => {
    const DECLINED = { outcome: 'fail' } as const;

    const outcomes = async () =>
      (await harness.host.ledger()).callbacks.map(({ outcome, pending }) => (pending ? '-' : outcome));
    const paid = async (orderId: string) => {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      return billId;
    };

    test.each([
      ['SUCCESS', {}, ['payment.succeeded', 'payment.succeeded']],
      ['FAIL', DECLINED, ['payment.failed', 'payment.succeeded']],
    ] as const)(
      'a postback of a second payment, %s, is not confirmed by an older payment: the list is read again',
      async (_, how, events) => {
        const { gate, confirmer } = await startBehindGate();
        const { billId } = await harness.host.payments.createBill({ orderId: 'twice', amount: '10' });
        await harness.sandbox.pay(billId);
        await harness.sandbox.settled();
        await confirmer.runOnce();
        expect(await outcomes()).toEqual(['confirmed']);

        gate.lag();
        await harness.sandbox.pay(billId, how);
        await harness.sandbox.settled();
        for (const pauseMs of [2 * SECOND, 3 * SECOND, 10 * SECOND]) {
          harness.clock.advance(pauseMs);
          expect(await confirmer.runOnce()).toBe(1);
          expect(await outcomes()).toEqual(['-', 'confirmed']);
        }
        gate.catchUp();
        harness.clock.advance(30 * SECOND);
        expect(await confirmer.runOnce()).toBe(1);
        expect(await outcomes()).toEqual(['confirmed', 'confirmed']);
        expect(
          (await harness.host.ledger()).events.flatMap(({ name }) => (name === 'payment.review' ? [] : name)).sort(),
        ).toEqual(events);
      },
    );

    test('a postback costs one check if the payment was already found after the redirect', async () => {
      harness = await startHarness();
      const { billId } = await harness.host.payments.createBill({ orderId: 'redirected', amount: '10' });
      await harness.sandbox.setFaults({ postbacks: { delay: { p: 1, by: '20s' } } });
      const { redirect } = await harness.sandbox.pay(billId);
      await postForm(redirect!.url, redirect!.fields);
      await harness.settle();
      expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'PAID' }]);
      const before = checksOf(harness);
      await harness.sandbox.advanceClock('20s');
      await pass(harness, 5 * MINUTE, SECOND);
      expect(checksOf(harness) - before).toBe(1);
      expect(await outcomes()).toEqual(['confirmed', null]);
    });

    test('two hundred copies of a postback, days later, cost no more checks than one list that lags', async () => {
      harness = await startHarness();
      const billId = await paid('repeated');
      harness.clock.advance(2 * DAY);
      await harness.settle();
      const before = checksOf(harness);
      const { callbacks } = harness.sandbox.bill(billId);
      await Promise.all(Array.from({ length: 200 }, () => harness.sandbox.replay(callbacks[0]!.id)));
      await pass(harness, 5 * MINUTE, SECOND);
      expect(checksOf(harness) - before).toBe(4);
      expect(new Set(await outcomes())).toEqual(new Set(['confirmed']));
      expect((await harness.host.ledger()).events.length).toBe(1);
    });
  });
});
