import { afterEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

const SECOND = 1_000;
const GOOD = 100;

describe('a bill that the service answers as if it did not know its shop', () => {
  let recorded: RecordedHarness;
  afterEach(() => recorded.close());

  test('bills that the service refuses one by one do not keep later ones of their shop waiting for ever', async () => {
    recorded = await startRecordedHarness();
    const { harness, recorder } = recorded;
    const create = async (order: string): Promise<void> => {
      recorder.answer(createdBill(`bill-${order}`));
      await harness.host.payments.createBill({ orderId: order, amount: '10' });
    };
    const asked = new Set<string>();
    const check = async (minutes: number): Promise<void> => {
      recorder.answer((request: IncomingMessage, response: ServerResponse) => {
        const [, bill = ''] = /bill-(\w+)/.exec(request.url ?? '') ?? [];
        asked.add(bill);
        response.writeHead(bill.startsWith('sick') ? 403 : 200, { 'content-type': 'application/json' });
        response.end(
          bill.startsWith('sick') ? '{"message":"api:error.merchant_not_found"}' : '{"success":true,"data":[]}',
        );
      });
      for (let turns = 0; turns < minutes * 6; turns += 1) {
        harness.clock.advance(10 * SECOND);
        await harness.host.confirmer.runOnce();
      }
    };
    for (const order of ['sick1', 'sick2', 'sick3']) await create(order);
    await check(3);
    for (const order of ['good1', 'good2']) await create(order);
    await check(30);
    expect([...asked].filter((bill) => bill.startsWith('good')).sort()).toEqual(['good1', 'good2']);
    const refused = harness.host.dataSource.query(
      `SELECT shop FROM payment_acceptance.shop_state WHERE refused_since IS NOT NULL`,
    );
    expect(await refused).toEqual([]);
  });

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
