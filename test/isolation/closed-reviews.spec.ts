import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { startWithOneBill, type RecordedHarness } from '../support/recorded-harness.js';
import { postbackFields, postJson } from '../support/http.js';

const DAY = 24 * 3_600_000;

describe('a review of a bill that the service refuses to list', () => {
  let recorded: RecordedHarness;
  beforeEach(async () => {
    recorded = await startWithOneBill();
  });
  afterEach(() => recorded.close());

  /** As often as it is due until then, the service says the same. */
  async function passes(ms: number): Promise<void> {
    const { clock, host } = recorded.harness;
    for (let passed = 0; passed < ms; passed += 3_600_000) {
      recorded.recorder.answer({ status: 400, body: '{"message":"api:error.too_many_payments"}' });
      clock.advance(3_600_000);
      await host.confirmer.runOnce();
    }
  }
  const open = async () => (await recorded.harness.host.ledger()).reviews.filter(({ state }) => state === 'OPEN');
  const events = async () => (await recorded.harness.host.ledger()).events.length;
  async function dismissAll(): Promise<void> {
    const reviews = recorded.harness.host.app.get(PaymentReviews);
    for (const { id } of await open()) await reviews.dismiss(id, { operator: 'ann' });
  }

  test('after a dismissed review of an unlisted bill, a later postback opens another one with its event', async () => {
    await passes(DAY / 2);
    expect([(await open()).length, await events()]).toEqual([1, 1]);
    await dismissAll();
    await passes(DAY / 4);
    expect(await open()).toEqual([]);
    const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: 'bill-1', Status: 'SUCCESS' });
    expect((await postJson(`${recorded.harness.host.url}/postback/payment`, fields)).status).toBe(200);
    await passes(3_600_000);
    expect([(await open()).length, await events()]).toEqual([1, 2]);
  });

  test('after a dismissed review of an unlisted bill, another one opens a day later, once', async () => {
    await passes(3_600_000);
    await dismissAll();
    await passes(2 * DAY);
    expect([(await open()).length, await events()]).toEqual([1, 2]);
  });
});
