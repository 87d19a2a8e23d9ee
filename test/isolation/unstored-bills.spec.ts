import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentBillNotStoredError } from 'nestjs-payment-acceptance';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { startHarness, type Harness, type Instance } from '../support/harness.js';
import { until } from '../support/until.js';

describe("the service's answer to a creation, while the database takes nothing", () => {
  let harness: Harness;
  const logged: string[] = [];
  beforeEach(async () => {
    logged.length = 0;
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => void logged.push(String(line)));
    harness = await startHarness({ options: { creation: { storeTimeoutMs: 300 } } });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  /** No intent comes to its end in the tables from now on; gives what ends that. */
  function cutOff({ app }: Instance): () => void {
    const probe = app.get(PaymentProbe);
    probe.reached = (point) => {
      if (point === 'before UPDATE payment_acceptance.bill') throw new Error('the disk is full');
    };
    return () => void (probe.reached = () => undefined);
  }

  const create = ({ payments }: Instance, orderId = 'order-1') => payments.createBill({ orderId, amount: '10' });
  const failureOf = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error);

  test('createBill names a bill that cannot be stored, and the next call returns it without a request', async () => {
    const restore = cutOff(harness.host);
    const error = await failureOf(create(harness.host));
    expect(error).toBeInstanceOf(PaymentBillNotStoredError);
    const [made, ...more] = harness.sandbox.bills();
    expect(more).toEqual([]);
    const [intent] = (await harness.host.ledger()).bills;
    expect(error).toMatchObject({ code: 'bill-not-stored', billId: made!.id, intentId: intent!.intentId });
    expect(logged).toEqual([
      expect.stringContaining(`Bill ${made!.id} of order "order-1" of shop "main", which exists at the service`),
    ]);
    restore();
    expect((await create(harness.host)).billId).toBe(made!.id);
    expect(harness.sandbox.bills()).toHaveLength(1);
    expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'OPEN', billId: made!.id, failure: null }]);
  });

  test('a bill that could not be stored is stored later although its lease has ended, and no other is made', async () => {
    const restore = cutOff(harness.host);
    await failureOf(create(harness.host));
    harness.clock.advance(3_600_000);
    // Another instance has closed the intent.
    const other = await harness.start();
    await other.confirmer.runOnce();
    expect((await other.ledger()).bills).toMatchObject([
      { state: 'UNKNOWN', failure: expect.stringMatching(/^The outcome/) },
    ]);
    restore();
    const [made] = harness.sandbox.bills();
    expect((await create(harness.host)).billId).toBe(made!.id);
    expect(harness.sandbox.bills()).toHaveLength(1);
  });

  test('an unstored bill is tried again at the shutdown, and logged with what attaching it by hand needs', async () => {
    const [lucky, unlucky] = [await harness.start(), await harness.start()];
    const [restore] = [cutOff(lucky), cutOff(unlucky)];
    const [, error] = await Promise.all(
      [lucky, unlucky].map((each, index) => failureOf(create(each, `order-${index}`))),
    );
    const { intentId, billId } = error as PaymentBillNotStoredError;
    logged.length = 0;
    restore();
    await lucky.app.close();
    expect(logged).toEqual([]);
    const states = (await harness.host.ledger()).bills.map(({ orderId, state }) => [orderId, state]);
    expect(Object.fromEntries(states)).toEqual({ 'order-0': 'OPEN', 'order-1': 'CREATING' });
    await unlucky.app.close();
    expect(logged).toEqual([expect.stringContaining('was not stored before the shutdown')]);
    for (const needed of [
      intentId,
      billId,
      `/transfer/${billId}`,
      'order "order-1" of shop "main"',
      'the disk is full',
    ]) {
      expect(logged[0]).toContain(needed);
    }
  });

  /** The database fails over to a server that was behind: what had been committed of the order is gone. */
  async function lose(orderId: string): Promise<void> {
    const { dataSource } = harness.host;
    await dataSource.query(`DELETE FROM payment_acceptance.bill WHERE order_id = '${orderId}'`);
    await dataSource.query(`DELETE FROM payment_acceptance.shop_order WHERE order_id = '${orderId}'`);
  }

  test('an unstored bill is opened although the database has lost the intent, which is stored again', async () => {
    const restore = cutOff(harness.host);
    await failureOf(create(harness.host));
    await lose('order-1');
    restore();
    const [made] = harness.sandbox.bills();
    expect((await create(harness.host)).billId).toBe(made!.id);
    expect(harness.sandbox.bills()).toHaveLength(1);
    await harness.sandbox.pay(made!.id);
    await harness.settle();
    const { bills, events } = await harness.host.ledger();
    expect(bills).toMatchObject([{ state: 'PAID', billId: made!.id, attempt: 1 }]);
    expect(events).toHaveLength(1);
  });

  test('an unstored bill is opened beside one that the order got after its intent was lost', async () => {
    const restore = cutOff(harness.host);
    await failureOf(create(harness.host));
    await lose('order-1');
    const other = await harness.start();
    await create(other);
    restore();
    await until(
      () => harness.host.ledger(),
      ({ bills }) => bills.length === 2 && bills.every(({ state }) => state === 'OPEN'),
    );
    const billIds = harness.sandbox.bills().map(({ id }) => id);
    const { bills } = await harness.host.ledger();
    expect(bills.map(({ billId }) => billId).sort()).toEqual(billIds.sort());
  });

  test('a creation of unknown outcome stays unknown after the database has lost its intent', async () => {
    await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    const restore = cutOff(harness.host);
    await failureOf(create(harness.host));
    await lose('order-1');
    restore();
    await until(
      () => harness.host.ledger(),
      ({ bills }) => bills.length === 1 && bills[0]!.state === 'UNKNOWN',
    );
  });
});
