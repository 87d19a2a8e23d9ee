import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { startHarness, type Harness } from '../support/harness.js';
import { Operator } from './support/operator.js';
import { Bookkeeper, forget } from './support/records.js';

const CREATION = 120_000;

let harness: Harness;
let operator: Operator;
/** The lost bill, and the id of its record. */
let billId: string;
let id: string;
let scope: string | null;

describe('lost bills in the console', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [Bookkeeper],
      imports: [PaymentConsoleModule.register({ guardedElsewhere: true, operator: () => 'ann', shop: () => scope })],
    });
    operator = new Operator(`${harness.host.url}/payment-console`);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    scope = null;
    await forget(harness);
    ({ billId } = await harness.host.payments.createBill({ orderId: 'mug-7', amount: '100.05' }));
    await harness.host.dataSource.query('DELETE FROM payment_acceptance.bill');
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(CREATION + 3_600_000);
    expect(await harness.host.app.get(BillInquiry).runOnce()).toBe(1);
    id = /take-in-bill\/([0-9a-f-]{36})/.exec((await operator.open('lost-bills')).html)![1]!;
  });

  const actions = (): Promise<object[]> =>
    harness.host.dataSource.query('SELECT operator, action, detail FROM payment_acceptance.operator_action');

  test("the overview counts lost bills, and their page separates the claims of a postback from the service's list", async () => {
    const first = await operator.open();
    expect(first.text).toContain('1 thing needs attention.');
    expect(first.text).toContain('Lost bills 1');
    const { text } = await operator.open('lost-bills');
    expect(text).toMatch(
      new RegExp(`Bill ${billId} .*SUCCESS 100\\.05 RUB 411111\\*+1111 .*Order named by a postback mug-7 unverified`),
    );
    expect(text).not.toContain('different orders');
  });

  test('a lost bill is taken in for exactly the order that was typed, spaces included', async () => {
    await operator.confirm(`actions/take-in-bill/${id}`, { orderId: 'A  7', amount: '100.05' });
    expect((await harness.host.ledger()).bills).toMatchObject([{ orderId: 'A  7' }]);
  });

  test('a lost bill is taken in for the order that an operator enters, and settles', async () => {
    const asked = await operator.open(`actions/take-in-bill/${id}`);
    expect(asked.html).not.toContain('value="mug-7"');
    expect((await operator.submit(asked, { orderId: 'mug-7', amount: '1,5' })).status).toBe(400);
    for (const orderId of ['', 'mug-7 ', '\u200emug-7']) {
      expect((await operator.submit(asked, { orderId, amount: '100.05' })).status).toBe(400);
    }
    const refused = await operator.submit(asked, { orderId: 'mug-7', amount: '100.05', currency: 'rubles' });
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('Nothing was changed.')]);
    expect(await actions()).toEqual([]);
    const told = { orderId: 'mug-7', amount: '100.05', note: 'in the order book' };
    const done = await operator.confirm(`actions/take-in-bill/${id}`, told);
    expect(done.text).toMatch(/The bill was imported\..*There are no lost bills\./);
    await harness.settle();
    expect(await harness.effects()).toMatchObject([{ orderId: 'mug-7', event: 'payment.succeeded' }]);
    expect((await operator.open('log')).text).toMatch(
      new RegExp(`ann imported bill ${billId} mug-7 in the order book`),
    );
    const again = await operator.open(`actions/take-in-bill/${id}`);
    expect([again.status, again.text]).toEqual([404, expect.stringContaining('the log says by whom')]);
  });

  test('a lost bill is dismissed only with a note that says why', async () => {
    const asked = await operator.open(`actions/dismiss-lost-bill/${id}`);
    const without = await operator.submit(asked);
    expect([without.status, without.text]).toEqual([
      409,
      expect.stringContaining('Add a note on why the bill is not yours'),
    ]);
    const done = await operator.confirm(`actions/dismiss-lost-bill/${id}`, { note: 'of the till' });
    expect(done.text).toContain('The bill was dismissed.');
    expect(await actions()).toEqual([
      {
        operator: 'ann',
        action: 'dismiss-lost-bill',
        detail: { shop: 'main', serviceBillId: billId, note: 'of the till' },
      },
    ]);
    expect((await operator.open()).text).toContain('Lost bills 0');
    expect((await operator.open('log')).text).toContain(`ann dismissed lost bill ${billId}`);
  });

  test('an operator of another shop finds no lost bills', async () => {
    scope = 'eu';
    expect((await operator.open('lost-bills')).text).toContain('There are no lost bills.');
    expect((await operator.open()).text).toContain('Lost bills 0');
    for (const action of ['take-in-bill', 'dismiss-lost-bill']) {
      expect((await operator.open(`actions/${action}/${id}`)).status).toBe(404);
    }
  });
});
