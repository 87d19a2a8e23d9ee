import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import {
  PaymentBillMismatchError,
  PaymentCreationInProgressError,
  PaymentOrderAlreadyPaidError,
  PaymentUnauthenticatedError,
  PaymentServiceNetworkError,
  PaymentUnknownOutcomeError,
  type PaymentBill,
} from 'nestjs-payment-acceptance';
import { BillStore } from '../../libs/payment-acceptance/src/bills/storage/bill.store.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../../libs/payment-acceptance/src/config/resolved-options.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';

let harness: Harness;

const billsOf = async (orderId: string) =>
  (await harness.host.ledger()).bills.filter((bill) => bill.orderId === orderId).map(({ state }) => state);
const creations = (orderId: string) =>
  harness.sandbox.requests.filter((request) => request.operation === 'create' && request.orderId === orderId).length;
const create = (orderId: string, amount = '10') => harness.host.payments.createBill({ orderId, amount });
const failing = async (orderId: string): Promise<unknown> => create(orderId).catch((error: unknown) => error);

describe('invariant 11: creation', () => {
  beforeAll(async () => {
    const options = { http: { totalTimeoutMs: 1_500, retryBaseMs: 1, retryCapMs: 2 }, creation: { waitMs: 200 } };
    harness = await startHarness({ instances: 2, options });
  });
  afterAll(() => harness.close());

  test('the intent is stored before the request is sent', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const creating = create('stored-first');
    await hold.reached();
    expect(await billsOf('stored-first')).toEqual(['CREATING']);
    hold.release();
    await creating;
    expect(await billsOf('stored-first')).toEqual(['OPEN']);
  });

  test.each(['loseAnswer', 'status500', 'html', 'malformed', 'empty'] as const)(
    'after %s a creation is UNKNOWN and not repeated, and the next call makes a new attempt',
    async (fault) => {
      await harness.sandbox.setFaults({ requests: { [fault]: 1 } });
      const error = await failing(fault);
      await harness.sandbox.clearFaults();
      expect(error).toBeInstanceOf(PaymentUnknownOutcomeError);
      expect(creations(fault)).toBe(1);
      expect(await billsOf(fault)).toEqual(['UNKNOWN']);
      const { intentId } = error as PaymentUnknownOutcomeError;
      expect((await harness.host.ledger()).bills[0]).toMatchObject({ intentId });
      expect((await create(fault)).attempt).toBe(2);
      expect((await billsOf(fault)).sort()).toEqual(['OPEN', 'UNKNOWN']);
    },
  );

  test('a creation that times out is UNKNOWN, and never sent again', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const error = await failing('timed-out');
    hold.release();
    expect(error).toBeInstanceOf(PaymentUnknownOutcomeError);
    expect((error as PaymentUnknownOutcomeError).cause).toMatchObject({ reason: 'timeout', mayHaveLeft: true });
    expect(creations('timed-out')).toBe(1);
  });

  test('a creation that provably never left is sent again, and is REJECTED in the end', async () => {
    const nowhere = await harness.start({ options: { shops: moduleOptions('http://127.0.0.1:1').shops } });
    const error = await nowhere.payments.createBill({ orderId: 'refused-port', amount: '1' }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(PaymentServiceNetworkError);
    expect(error).toMatchObject({ reason: 'ECONNREFUSED', mayHaveLeft: false });
    expect(await billsOf('refused-port')).toEqual(['REJECTED']);
    expect((await create('refused-port')).attempt).toBe(2);
  });

  test('a creation that the service refuses is REJECTED, and the next call makes a new attempt', async () => {
    await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    const error = await failing('refused');
    expect(error).toBeInstanceOf(PaymentUnauthenticatedError);
    expect(error).toMatchObject({ code: 'unauthenticated', status: 401 });
    await harness.sandbox.clearFaults();
    expect(await billsOf('refused')).toEqual(['REJECTED']);
    expect((await create('refused')).attempt).toBe(2);
  });

  test('twenty calls at once at two instances send one request, and all return its bill', async () => {
    // On a slow machine the short wait may end first: then the error says to call again.
    const persistent = async (call: number): Promise<PaymentBill> => {
      try {
        return await harness.instances[call % 2]!.payments.createBill({ orderId: 'crowd', amount: '10' });
      } catch (error) {
        if (error instanceof PaymentCreationInProgressError) return persistent(call);
        throw error;
      }
    };
    const calls = Array.from({ length: 20 }, (_, call) => persistent(call));
    const bills = await Promise.all(calls);
    expect(new Set(bills.map(({ billId }) => billId)).size).toBe(1);
    expect(creations('crowd')).toBe(1);
  });

  test('createBill returns the open bill again, and refuses another amount without newAttempt', async () => {
    const first = await create('again');
    expect(await create('again', '10.00')).toEqual(first);
    await expect(create('again', '11')).rejects.toBeInstanceOf(PaymentBillMismatchError);
    const otherwise = { orderId: 'again', amount: '10', payerPaysCommission: true };
    await expect(harness.host.payments.createBill(otherwise)).rejects.toThrow(
      'an open bill asks for 10.00 RUB, not 10.00 RUB and the commission.',
    );
    const second = await harness.host.payments.createBill({ orderId: 'again', amount: '11' }, { newAttempt: true });
    expect([second.attempt, second.amount]).toEqual([2, '11.00']);
  });

  test('a paid order takes no further bill, also not as a new attempt', async () => {
    const { billId } = await create('paid');
    await harness.sandbox.pay(billId);
    await harness.settle();
    await expect(create('paid')).rejects.toBeInstanceOf(PaymentOrderAlreadyPaidError);
    const again = harness.host.payments.createBill({ orderId: 'paid', amount: '10' }, { newAttempt: true });
    await expect(again).rejects.toBeInstanceOf(PaymentOrderAlreadyPaidError);
  });

  test('a call while another call is creating waits briefly, then throws PaymentCreationInProgressError', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const begun = jest.spyOn(harness.host.app.get(BillStore), 'insertFirst');
    const creating = create('busy');
    await hold.reached();
    const waiting = Array.from({ length: 50 }, () => failing('busy'));
    const elsewhere = harness.instances[1]!.payments.createBill({ orderId: 'busy', amount: '10' });
    await expect(elsewhere).rejects.toBeInstanceOf(PaymentCreationInProgressError);
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(PaymentCreationInProgressError);
    // They wait without the database's connections, which all shops share, and look once in the end.
    expect(begun).toHaveBeenCalledTimes(51);
    hold.release();
    await creating;
  });

  test('a creation whose process was killed becomes UNKNOWN by its lease; its own late answer still opens it', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const creating = create('late-answer');
    await hold.reached();
    const { creationMs } = harness.host.app.get<ResolvedOptions>(RESOLVED_OPTIONS).leases;
    for (const [advanceMs, state] of [
      [creationMs / 2, 'CREATING'],
      [creationMs / 2 + 60_000, 'UNKNOWN'],
    ] as const) {
      harness.clock.advance(advanceMs);
      await harness.instances[1]!.confirmer.runOnce();
      expect(await billsOf('late-answer')).toEqual([state]);
    }
    hold.release();
    expect((await creating).billId).toBeTruthy();
    expect(await billsOf('late-answer')).toEqual(['OPEN']);
  });
});
