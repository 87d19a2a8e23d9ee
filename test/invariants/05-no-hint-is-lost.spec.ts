import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startBed, type Bed } from '../support/bed.js';
import { onPostgres } from '../support/database.js';
import { holdUp } from '../support/hold-up.js';
import { postJson, postbackFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let bed: Bed;

describe('invariant 5: no hint is lost', () => {
  beforeAll(async () => {
    bed = await startBed({ providers: [EffectWriter], options: { callbacks: { maxUnmatched: 3 } } });
  });
  afterAll(() => bed.close());

  test('a hint that arrives while a check is in flight causes another check after it', async () => {
    const { billId } = await bed.host.payments.createBill({ orderId: 'in-flight', amount: '10' });
    await bed.sandbox.forge(billId);
    await bed.sandbox.settled();
    const hold = bed.sandbox.holdAnswers('payments');
    const check = bed.host.confirmer.runOnce();
    await hold.reached();
    await bed.sandbox.pay(billId);
    await bed.sandbox.settled();
    hold.release();
    await check;
    expect(await bed.host.ledger()).toMatchObject({
      bills: [{ state: 'OPEN' }],
      callbacks: [
        { pending: true, asks: 0 },
        { pending: true, asks: 1 },
      ],
    });
    bed.clock.advance(2_000);
    await bed.settle();
    // Two claims and one payment: the list may lag, until the pauses for that are over.
    expect(await bed.host.ledger()).toMatchObject({
      bills: [{ state: 'PAID' }],
      callbacks: [
        { pending: true, asks: 1 },
        { pending: false, outcome: 'confirmed' },
      ],
    });
    for (const pauseMs of [3_000, 10_000, 30_000]) {
      bed.clock.advance(pauseMs);
      await bed.settle();
    }
    expect((await bed.host.ledger()).callbacks.map(({ outcome }) => outcome)).toEqual(['confirmed', 'confirmed']);
  });

  test('recording does not wait for a bill that is locked', async () => {
    const { billId } = await bed.host.payments.createBill({ orderId: 'locked', amount: '10' });
    const runner = bed.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('SELECT 1 FROM payment_acceptance.bill WHERE service_bill_id = $1 FOR UPDATE', [billId]);
    const answer = await postJson(
      `${bed.host.url}/postback/payment`,
      postbackFields({ InvId: 'locked', OutSum: '10.00', TrsId: billId }),
    );
    expect(answer.status).toBe(200);
    await runner.rollbackTransaction();
    await runner.release();
  });

  test('a check that fails keeps the hint', async () => {
    const { billId } = await bed.host.payments.createBill({ orderId: 'kept', amount: '10' });
    await bed.sandbox.setFaults({ requests: { status500: 1 } });
    await bed.sandbox.pay(billId);
    await bed.settle();
    expect((await bed.host.ledger()).callbacks[0]).toMatchObject({ billId, pending: true });
    await bed.sandbox.clearFaults();
    bed.clock.advance(10_000);
    await bed.settle();
    expect((await bed.host.ledger()).bills[0]).toMatchObject({ billId, state: 'PAID' });
  });

  test("a postback that overtakes the creation's answer finds its bill when that arrives", async () => {
    const hold = bed.sandbox.holdAnswers('create');
    const creating = bed.host.payments.createBill({ orderId: 'overtaken', amount: '10' });
    await hold.reached();
    const known = bed.sandbox.bills().find(({ orderId }) => orderId === 'overtaken')!;
    await bed.sandbox.pay(known.id);
    await bed.sandbox.settled();
    expect((await bed.host.ledger()).callbacks[0]).toMatchObject({ billId: null, serviceBillId: known.id });
    hold.release();
    await creating;
    await bed.settle();
    expect((await bed.host.ledger()).bills[0]).toMatchObject({ orderId: 'overtaken', state: 'PAID' });
  });

  onPostgres(test)('a postback that is being stored while its bill is being opened finds it', async () => {
    const hold = bed.sandbox.holdAnswers('create');
    const creating = bed.host.payments.createBill({ orderId: 'beside', amount: '10' });
    await hold.reached();
    const known = bed.sandbox.bills().find(({ orderId }) => orderId === 'beside')!;
    const held = await holdUp(bed.host.dataSource, 'callback');
    const fields = postbackFields({ InvId: 'beside', OutSum: '10.00', TrsId: known.id });
    const answering = postJson(`${bed.host.url}/postback/payment`, fields);
    await held.reached();
    hold.release();
    await creating;
    await held.letGo();
    expect((await answering).status).toBe(200);
    expect((await bed.host.ledger()).callbacks[0]).toMatchObject({ billId: known.id, pending: true });
  });

  test('postbacks for unknown bills are kept up to a bound; beyond it the answer is 503, also at once', async () => {
    const send = (TrsId: string) =>
      postJson(`${bed.host.url}/postback/payment`, postbackFields({ InvId: 'x', OutSum: '1.00', TrsId }));
    const statuses = [];
    for (const TrsId of ['u-1', 'u-2', 'u-3', 'u-4']) statuses.push((await send(TrsId)).status);
    expect(statuses).toEqual([200, 200, 200, 503]);
    const bill = await bed.host.payments.createBill({ orderId: 'still', amount: '1' });
    expect((await send(bill.billId)).status).toBe(200);
  });
});
