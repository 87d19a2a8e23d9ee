import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Module } from '@nestjs/common';
import { OperatorPageController } from '../../examples/operator-page/operator-page.controller.js';
import { startHarness, type Harness } from '../support/harness.js';
import { Bookkeeper } from './support/records.js';

@Module({})
class OperatorPageModule {}

let harness: Harness;

describe("the example of an operator's page of one's own", () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Bookkeeper],
      imports: [{ module: OperatorPageModule, controllers: [OperatorPageController] }],
    });
  });
  afterAll(() => harness.close());

  const open = (path = '', headers: Record<string, string> = { 'x-operator': 'yes' }): Promise<Response> =>
    fetch(`${harness.host.url}/backoffice/payments${path}`, { headers });
  const text = async (path?: string): Promise<string> => (await open(path)).text();

  test('the example page lists bills, finds one by the id of its payment, and shows its history', async () => {
    const orders = ['<first>', 'second'];
    for (const orderId of orders) await harness.host.payments.createBill({ orderId, amount: '10.00' });
    const { billId } = await harness.host.payments.createBill({ orderId: 'second', amount: '10.00' });
    const { payment } = await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.settle();

    const first = await text();
    expect(first).toContain('0 reviews, 0 dead letters, 0 unknown outcomes');
    expect(first).toContain('&#60;first&#62;</a>: OPEN, 10.00 RUB');
    expect(first).toContain('second</a>: PAID, 10.00 RUB');

    const [, intentId] = /href="payments\/([\w-]+)"/.exec(await text(`?q=${payment.id}`))!;
    const story = await text(`/${intentId}`);
    expect(story).toContain('Order second: PAID, 10.00 RUB');
    expect(story).toContain(`payment ${payment.id}: SUCCESS, 10.00`);
    expect(story).toContain('postback at ');
    expect(story).toMatch(/payment\.succeeded: DONE/);
  });

  test('the example page is for operators alone, and answers 404 for an unknown bill', async () => {
    expect((await open('', {})).status).toBe(403);
    expect((await open('/nonsense')).status).toBe(404);
  });
});
