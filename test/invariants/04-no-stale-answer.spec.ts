import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { CheckStore } from '../../libs/payment-acceptance/src/settlement/storage/check.store.js';
import { moduleOptions, startHarness, type Harness, type Instance } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { startGate, type Gate } from '../support/gate.js';
import { holdUp } from '../support/hold-up.js';
import { EffectWriter } from '../support/orders.js';

const LEASE_MS = 60_000;

let harness: Harness;
let gate: Gate;
let slow: Instance;

describe('invariant 4: no stale answer settles', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    gate = await startGate(harness.sandboxUrl);
    slow = await harness.start({ options: { shops: moduleOptions(gate.url).shops } });
  });
  afterAll(async () => {
    await harness.close();
    await gate.close();
  });

  test('a check held up beyond its lease changes nothing after another has settled the bill', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'stale', amount: '10' });
    harness.clock.advance(LEASE_MS);
    gate.shut();
    const held = slow.confirmer.runOnce();
    await gate.reached();

    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(LEASE_MS + 1_000);
    expect(await harness.host.confirmer.runOnce()).toBe(1);
    const settled = await harness.host.ledger();
    expect(settled).toMatchObject({ bills: [{ state: 'PAID' }], callbacks: [{ pending: false }] });

    gate.open();
    expect(await held).toBe(1);
    expect(await harness.host.ledger()).toEqual(settled);
    await harness.settle();
    expect((await harness.effects()).length).toBe(1);
  });

  test('a stale answer consumes no hint and frees no lease of the check that replaced it', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'stale-hint', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.settled();
    gate.shut();
    const held = slow.confirmer.runOnce();
    await gate.reached();
    harness.clock.advance(LEASE_MS + 1_000);

    const hold = harness.sandbox.holdAnswers('payments');
    const current = harness.host.confirmer.runOnce();
    await hold.reached();
    gate.open();
    await held;
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId, pending: true });
    expect(await slow.confirmer.runOnce()).toBe(0);
    hold.release();
    expect(await current).toBe(1);
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId, pending: false });
  });

  test('a claim takes no more bills than requests can start at once', async () => {
    // With two shops, each gets half.
    const narrow = await harness.start({ options: { checks: { concurrency: 4 } } });
    for (const orderId of ['n-1', 'n-2', 'n-3']) await harness.host.payments.createBill({ orderId, amount: '1' });
    harness.clock.advance(LEASE_MS);
    expect(await narrow.confirmer.runOnce()).toBe(2);
    expect(await narrow.confirmer.runOnce()).toBe(1);
  });

  test('a check that fails late frees no lease of the check that replaced it', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'failed-late', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    gate.shut();
    const held = slow.confirmer.runOnce();
    await gate.reached();
    await harness.sandbox.clearFaults();
    harness.clock.advance(LEASE_MS + 1_000);

    const hold = harness.sandbox.holdAnswers('payments');
    const current = harness.host.confirmer.runOnce();
    await hold.reached();
    gate.open();
    await held;
    hold.release();
    await current;
    expect((await harness.host.ledger()).bills[0]).toMatchObject({ billId, state: 'PAID', lastCheckError: null });
  });

  onPostgres(test)('a bill that is being settled is claimed by nobody, however long that takes', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'held-up', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    const held = await holdUp(harness.host.dataSource, 'event');
    const settling = harness.host.confirmer.runOnce();
    await held.reached();
    harness.clock.advance(LEASE_MS + 1_000);
    const limits = { limit: 10, leaseMs: LEASE_MS, requestsPerSecond: 1_000 };
    const bills = await slow.app.get(CheckStore, { strict: false }).claim('main', randomUUID(), limits);
    expect(bills.map((bill) => bill.billId)).not.toContain(billId);
    await held.letGo();
    await settling;
    expect((await harness.host.ledger()).bills[0]).toMatchObject({ billId, state: 'PAID' });
  });
});
