import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { BillHistoryStore } from '../../libs/payment-acceptance/src/operations/storage/records/bill-history.store.js';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { pay } from '../support/pay.js';

describe('records with the same timestamp', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness({});
  });
  afterEach(() => harness.close());

  test('the records of one settlement have one timestamp', async () => {
    await pay(harness, 'order-1');
    expect(await harness.host.confirmer.runOnce()).toBe(1);
    const settled: unknown = await harness.host.dataSource.query(
      `SELECT (b.ended_at = b.paid_at AND b.paid_at = b.checked_at AND b.checked_at = p.first_seen_at
       AND p.first_seen_at = p.changed_at AND p.changed_at = e.occurred_at)::boolean AS "together"
     FROM payment_acceptance.bill b JOIN payment_acceptance.payment p ON p.intent_id = b.intent_id
     JOIN payment_acceptance.event e ON e.intent_id = b.intent_id`,
    );
    expect(settled).toEqual([{ together: true }]);
  });

  test('callbacks with the same timestamp are always listed in the same order', async () => {
    const { app, dataSource, payments, url } = harness.host;
    const { billId, intentId } = await payments.createBill({ orderId: 'order-1', amount: '10' });
    for (const Status of ['NEW', 'PROCESS', 'SUCCESS', 'FAIL', 'OTHER', 'ANOTHER']) {
      const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: billId, Status });
      expect((await postJson(`${url}/postback/payment`, fields)).status).toBe(200);
    }
    // The highest id is changed first, and PostgreSQL's index gives what was changed last first.
    const ids: { id: string }[] = await dataSource.query('SELECT id FROM payment_acceptance.callback ORDER BY id DESC');
    for (const { id } of ids) {
      await dataSource.query(`UPDATE payment_acceptance.callback SET received_at = $1 WHERE id = $2`, [
        '2026-11-21 12:00:00',
        id,
      ]);
    }
    const history = await new BillHistoryStore(app.get(Database)).ofBill(null, intentId);
    expect(history?.callbacks.map(({ id }) => id)).toEqual(ids.map(({ id }) => id));
  });
});
