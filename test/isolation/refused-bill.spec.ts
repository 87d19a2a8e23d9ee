import { afterEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

const SECOND = 1_000;
const GOOD = 100;

describe('a bill that the service answers as if it did not know its shop', () => {
  let recorded: RecordedHarness;
  afterEach(() => recorded.close());

  const answers: [string, number, string][] = [
    ['401', 401, '{"message":"Unauthenticated."}'],
    ['merchant_banned', 403, '{"message":"api:error.merchant_banned"}'],
    ['merchant_not_found', 404, '{"message":"api:error.merchant_not_found"}'],
  ];
  test.each(answers)(
    'a bill answered with %s does not keep the other bills of its shop waiting',
    async (_what, status, body) => {
      recorded = await startRecordedHarness();
      const { harness, recorder } = recorded;
      const orders = ['sick', ...Array.from({ length: GOOD }, (_, index) => `good-${index}`)];
      for (const order of orders) {
        recorder.answer(createdBill(`bill-${order}`));
        await harness.host.payments.createBill({ orderId: order, amount: '10' });
      }
      let asked = 0;
      recorder.answer((request: IncomingMessage, response: ServerResponse) => {
        const sick = request.url?.includes('bill-sick');
        if (!sick) asked += 1;
        response.writeHead(sick ? status : 200, { 'content-type': 'application/json' });
        response.end(sick ? body : '{"success":true,"data":[]}');
      });
      harness.clock.advance(60 * SECOND);
      for (let second = 0; second < 60; second += 1) {
        harness.clock.advance(SECOND);
        await harness.host.confirmer.runOnce();
      }
      expect(asked).toBeGreaterThanOrEqual(GOOD);
      const refused = harness.host.dataSource.query(
        `SELECT shop FROM payment_acceptance.shop_state WHERE refused_since IS NOT NULL`,
      );
      expect(await refused).toEqual([]);
    },
  );
});
