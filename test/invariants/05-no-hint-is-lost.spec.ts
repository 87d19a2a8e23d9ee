import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Confirmer } from '../../libs/payment-acceptance/src/settlement/confirmer.js';
import { startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { holdUp } from '../support/hold-up.js';
import { postJson, postbackFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;

describe('invariant 5: no hint is lost', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter], options: { callbacks: { maxUnmatched: 3 } } });
  });
  afterAll(() => harness.close());

  test('a hint that arrives while a check is in flight causes another check after it', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'in-flight', amount: '10' });
    await harness.sandbox.forge(billId);
    await harness.sandbox.settled();
    const hold = harness.sandbox.holdAnswers('payments');
    const check = harness.host.confirmer.runOnce();
    await hold.reached();
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    hold.release();
    await check;
    expect(await harness.host.ledger()).toMatchObject({
      bills: [{ state: 'OPEN' }],
      callbacks: [
        { pending: true, asks: 0 },
        { pending: true, asks: 1 },
      ],
    });
    harness.clock.advance(2_000);
    await harness.settle();
    // Two claims and one payment: the list may lag, until the pauses for that are over.
    expect(await harness.host.ledger()).toMatchObject({
      bills: [{ state: 'PAID' }],
      callbacks: [
        { pending: true, asks: 1 },
        { pending: false, outcome: 'confirmed' },
      ],
    });
    for (const pauseMs of [3_000, 10_000, 30_000]) {
      harness.clock.advance(pauseMs);
      await harness.settle();
    }
    expect((await harness.host.ledger()).callbacks.map(({ outcome }) => outcome)).toEqual(['confirmed', 'confirmed']);
  });

  test('a postback that came early is linked to its bill after the instance that opened it has ended', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'early', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    // As it is between the two commits.
    await harness.host.dataSource.query(
      'UPDATE payment_acceptance.callback SET intent_id = NULL, corroboration = $1 WHERE bill_id = $2',
      ['{}', billId],
    );
    harness.clock.advance(600_000);
    await harness.host.app.get(Confirmer, { strict: false }).maintain();
    const linked = `SELECT 1 FROM payment_acceptance.callback WHERE bill_id = '${billId}' AND intent_id IS NOT NULL`;
    expect(await harness.host.dataSource.query(linked)).toHaveLength(1);
    await harness.settle();
    expect((await harness.effects()).map(({ orderId }) => orderId)).toContain('early');
  });

  test('recording a postback does not wait for its locked bill', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'locked', amount: '10' });
    const runner = harness.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT 1 FROM payment_acceptance.bill WHERE bill_id = $1 FOR UPDATE', [billId]);
    const answer = await postJson(
      `${harness.host.url}/postback/payment`,
      postbackFields({ InvId: 'locked', OutSum: '10.00', TrsId: billId }),
    );
    expect(answer.status).toBe(200);
    await runner.rollbackTransaction();
    await runner.release();
  });

  test('a check that fails keeps the hint', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'kept', amount: '10' });
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId, pending: true });
    await harness.sandbox.clearFaults();
    harness.clock.advance(10_000);
    await harness.settle();
    expect((await harness.host.ledger()).bills[0]).toMatchObject({ billId, state: 'PAID' });
  });

  test("a postback that overtakes the creation's answer finds its bill when that arrives", async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const creating = harness.host.payments.createBill({ orderId: 'overtaken', amount: '10' });
    await hold.reached();
    const known = harness.sandbox.bills().find(({ orderId }) => orderId === 'overtaken')!;
    await harness.sandbox.pay(known.id);
    await harness.sandbox.settled();
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId: null, trsId: known.id });
    hold.release();
    await creating;
    // At once: the search for what a crash has left unlinked comes later.
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId: known.id, pending: true });
    await harness.settle();
    expect((await harness.host.ledger()).bills[0]).toMatchObject({ orderId: 'overtaken', state: 'PAID' });
  });

  onPostgres(test)('a postback that is being stored while its bill is being opened finds it', async () => {
    const hold = harness.sandbox.holdAnswers('create');
    const creating = harness.host.payments.createBill({ orderId: 'beside', amount: '10' });
    await hold.reached();
    const known = harness.sandbox.bills().find(({ orderId }) => orderId === 'beside')!;
    const held = await holdUp(harness.host.dataSource, 'callback');
    const fields = postbackFields({ InvId: 'beside', OutSum: '10.00', TrsId: known.id });
    const answering = postJson(`${harness.host.url}/postback/payment`, fields);
    await held.reached();
    hold.release();
    await creating;
    await held.letGo();
    expect((await answering).status).toBe(200);
    expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId: known.id, pending: true });
  });

  test('postbacks for unknown bills are kept up to a bound, and get 503 beyond it', async () => {
    const send = (TrsId: string) =>
      postJson(`${harness.host.url}/postback/payment`, postbackFields({ InvId: 'x', OutSum: '1.00', TrsId }));
    const statuses = [];
    for (const TrsId of ['u-1', 'u-2', 'u-3', 'u-4']) statuses.push((await send(TrsId)).status);
    expect(statuses).toEqual([200, 200, 200, 503]);
    const bill = await harness.host.payments.createBill({ orderId: 'still', amount: '1' });
    expect((await send(bill.billId)).status).toBe(200);
  });
});
