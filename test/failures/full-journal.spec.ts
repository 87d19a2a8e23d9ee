import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { until } from '../support/until.js';

const QUEUED = 20;
/** Callbacks that one instance stores singly at the same time. */
const SINGLES = 2;
/** Any lock number: postbacks without a bill wait for its holder. */
const LOCK = 4711;

let harness: Harness;

describe('full journal', () => {
  beforeAll(async () => {
    harness = await startHarness({ options: { callbacks: { maxQueued: QUEUED } } });
    for (const statement of [
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NEW; END $$`,
      `CREATE TRIGGER wait BEFORE INSERT ON payment_acceptance.callback FOR EACH ROW WHEN (NEW.intent_id IS NULL) EXECUTE FUNCTION wait()`,
    ]) {
      await harness.host.dataSource.query(statement);
    }
  });
  afterAll(() => harness.close());

  const post = async (TrsId: string) =>
    (await postJson(`${harness.host.url}/postback/payment`, postbackFields({ InvId: 'o-1', OutSum: '10.00', TrsId })))
      .status;
  const delayed = async () => (await harness.host.app.get(PaymentOperations).stats()).dropped.delayedCallbacks;

  test('postbacks for unknown bills fill at most half of the queue, and leave the rest to known bills', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'o-1', amount: '10' });
    const holder = harness.host.dataSource.createQueryRunner();
    await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
    const made = Array.from({ length: 3 * QUEUED }, (_, index) => post(`made-up-${index}`));
    const taken = SINGLES + QUEUED / 2;
    await until(delayed, (count) => count === made.length - taken);
    expect(await Promise.all(Array.from({ length: 5 }, () => post(billId)))).toEqual([200, 200, 200, 200, 200]);
    await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await holder.release();
    const statuses = await Promise.all(made);
    expect([200, 503].map((status) => statuses.filter((each) => each === status).length)).toEqual([
      taken,
      made.length - taken,
    ]);
  });
});
