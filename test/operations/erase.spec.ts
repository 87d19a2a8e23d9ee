import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentImport, PaymentOperations, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import os from 'node:os';
import { inspect } from 'node:util';
import { commandsOf, type Commands } from '../support/commands.js';
import { startHarness, type Harness } from '../support/harness.js';
import { billOf, Clerk, MASKED, paidWithTraces, payByCard, PERSON, placesOf, tell } from '../support/personal-data.js';

const NOTHING = {
  ...{ bills: 0, payments: 0, events: 0, callbacks: 0, deliveries: 0 },
  ...{ waitingCallbacks: 0, lostBills: 0, notes: 0 },
};

describe('erase', () => {
  let harness: Harness;
  let commands: Commands;
  beforeAll(async () => {
    harness = await startHarness({ providers: [Clerk] });
    commands = commandsOf(harness);
  });
  afterEach(async () => {
    Clerk.refused.clear();
    await harness.host.dataSource.query(
      `TRUNCATE payment_acceptance.lost_bill, payment_acceptance.operator_action, payment_acceptance.delivery,
       payment_acceptance.event, payment_acceptance.review, payment_acceptance.payment, payment_acceptance.callback,
       payment_acceptance.bill, payment_acceptance.shop_order CASCADE`,
    );
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  const places = async () => [
    ...(await placesOf(harness.host.dataSource, PERSON)),
    ...(await placesOf(harness.host.dataSource, MASKED)),
  ];
  const actions = () =>
    harness.host.dataSource.query<object[]>(
      `SELECT operator FROM payment_acceptance.operator_action WHERE action = 'erase' ORDER BY at`,
    );

  test('erase removes every personal text of the order, and only of this order', async () => {
    await paidWithTraces(harness, 'A-1');
    expect(await places()).toEqual(
      expect.arrayContaining([
        ...['bill.custom', 'bill.description', 'bill.name', 'callback.fields', 'delivery.last_error'],
        ...['event.payload', 'operator_action.detail', 'payment.from_card'],
      ]),
    );
    await harness.host.payments.shop('eu').createBill({ orderId: 'A-1', amount: '10', description: 'of another shop' });
    const { code, out, err } = await commands.command('erase', '--order', 'A-1', '--operator', 'ann');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(
      /^Removed from the records of one bill of order "A-1":\nbills: description, name, custom, .* 1\n/,
    );
    expect(await places()).toEqual([]);
    expect(await placesOf(harness.host.dataSource, 'of another shop')).toEqual(['bill.description']);
    expect(await actions()).toEqual([{ operator: 'ann' }]);
    const [bill] = (await harness.host.ledger()).bills.filter(({ shop }) => shop === 'main');
    expect(bill).toMatchObject({ orderId: 'A-1', state: 'PAID', amount: '10.00' });
  });

  test('erase removes nothing more when it is repeated, and records each request', async () => {
    await paidWithTraces(harness, 'A-1');
    const done = await commands.json('erase', '--order', 'A-1');
    expect(done).toMatchObject({ code: 0, document: { removed: { bills: 1, notes: 1, payments: 1 } } });
    const again = await commands.json('erase', '--order', 'A-1', '--operator', 'ann');
    expect(again).toMatchObject({ code: 0, document: { removed: NOTHING } });
    expect(await actions()).toEqual([{ operator: `cli:${os.userInfo().username}` }, { operator: 'ann' }]);
  });

  test('erase covers all bills of the order, and a waiting postback that names it', async () => {
    await billOf(harness, 'A-1');
    const custom = `${PERSON} again`;
    await harness.host.payments.createBill({ orderId: 'A-1', amount: '11', custom }, { newAttempt: true });
    expect(await tell(harness, 'A-1', 'unknown-bill')).toBe(200);
    const { document } = await commands.json('erase', '--order', 'A-1');
    expect(document).toMatchObject({
      removed: { ...NOTHING, bills: 2, waitingCallbacks: 1 },
      bills: [{ state: 'OPEN' }, { state: 'OPEN' }],
    });
    expect(await places()).toEqual([]);
  });

  test('erase finds a waiting postback by an order id that is stored masked', async () => {
    await billOf(harness, '4111111111111111');
    expect(await tell(harness, '4111111111111111', 'unknown-bill')).toBe(200);
    const { document } = await commands.json('erase', '--order', '4111111111111111');
    expect(document).toMatchObject({ removed: { waitingCallbacks: 1 } });
    expect(await places()).toEqual([]);
  });

  test('erase refuses an unknown order with an exit code and a message', async () => {
    await billOf(harness, 'A-1');
    const unknown = /^Shop "(main|eu)" has no bill of order "\S+", so nothing was removed\. If it is another shop's/;
    for (const line of [
      ['--order', 'A-2'],
      ['--order', 'A-1', '--shop', 'eu'],
    ]) {
      expect(await commands.command('erase', ...line)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(unknown),
      });
    }
    expect(await commands.command('erase')).toMatchObject({ code: 2, err: expect.stringContaining('--order ID') });
    const operations = harness.host.app.get(PaymentOperations);
    for (const order of [{ orderId: 'A-1' }, { orderId: 'A-1', shop: 'main' }, { orderId: 'A\0' }]) {
      await expect(operations.forShop('eu').eraseOrder(order, { operator: 'ann' })).rejects.toThrow(
        'has no bill of order',
      );
    }
    expect(await places()).toContain('bill.custom');
    const orders: object[] = await harness.host.dataSource.query('SELECT order_id FROM payment_acceptance.shop_order');
    expect(orders).toEqual([{ order_id: 'A-1' }]);
  });

  test.each([
    ['CREATING', 'has a bill being created. Try again'],
    ['UNKNOWN', 'Attach or void it first'],
  ])('erase refuses an order with a bill that is %s', async (state, sentence) => {
    await billOf(harness, 'A-1');
    await harness.host.dataSource.query(`UPDATE payment_acceptance.bill SET state = '${state}'`);
    expect(await commands.command('erase', '--order', 'A-1')).toMatchObject({
      code: 1,
      err: expect.stringContaining(sentence),
    });
    expect(await places()).toContain('bill.custom');
  });

  test('erase waits for the decision of an open review', async () => {
    const billId = await billOf(harness, 'A-1');
    await harness.sandbox.pay(billId, { amount: '9.00' });
    await harness.settle();
    const reviews = harness.host.app.get(PaymentReviews);
    const [review] = await reviews.list();
    const refused = await commands.command('erase', '--order', 'A-1');
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(`open reviews (${review!.id})`) });
    await reviews.dismiss(review!.id, { operator: 'ann', note: `${PERSON} was paid back` });
    expect(await commands.command('erase', '--order', 'A-1')).toMatchObject({ code: 0 });
    expect(await places()).toEqual([]);
  });

  test('erase covers a lost bill imported for the order, and not one that only its postback names', async () => {
    const billId = await billOf(harness, 'A-1');
    const lost = (bill: string, order: string) =>
      harness.host.dataSource.query(
        `INSERT INTO payment_acceptance.lost_bill
         (id, shop, bill_id, state, asks, asked_at, order_id, payments, listed, found_at)
         VALUES (gen_random_uuid(), 'main', $1, 'LOST', 1, now(), $2, $3, 1, now())`,
        [bill, order, `[{"fromCard": "${MASKED}"}]`],
      );
    await lost(billId, 'another');
    await lost('still-lost', 'A-1');
    const { document } = await commands.json('erase', '--order', 'A-1');
    expect(document).toMatchObject({ removed: { lostBills: 1 } });
    const left = await harness.host.dataSource.query<object[]>(
      'SELECT bill_id AS id FROM payment_acceptance.lost_bill WHERE payments IS NOT NULL',
    );
    expect(left).toEqual([{ id: 'still-lost' }]);
    const operations = harness.host.app.get(PaymentOperations);
    for (const { id } of await operations.lostBills()) {
      await operations.dismissLostBill(id, { operator: 'ann', note: `${PERSON} has bought it elsewhere` });
    }
    await commands.command('erase', '--order', 'A-1');
    expect(await places()).toEqual([]);
  });

  test('erase covers the note on a lost bill that was dismissed first and imported for the order later', async () => {
    await harness.host.dataSource.query(
      `INSERT INTO payment_acceptance.lost_bill
       (id, shop, bill_id, state, asks, asked_at, order_id, payments, listed, found_at, first_postback_at)
       VALUES (gen_random_uuid(), 'main', 'lost-1', 'LOST', 1, now(), 'another', '[]', 0, now(), now())`,
    );
    const operations = harness.host.app.get(PaymentOperations);
    const [lost] = await operations.lostBills();
    await operations.dismissLostBill(lost!.id, { operator: 'ann', note: `${PERSON} says that it is not ours` });
    const bill = { orderId: 'A-1', billId: 'lost-1', amount: '10', createdAt: new Date() };
    await harness.host.app.get(PaymentImport).importBills([bill], { operator: 'ann', note: 'ours after all' });
    expect(await operations.eraseOrder({ orderId: 'A-1' }, { operator: 'ann' })).toMatchObject({
      removed: { notes: 2 },
    });
    expect(await places()).toEqual([]);
  });

  test.each(['\0', '\u200b', ' \u2060\u0001 '])(
    'erase needs the name of an operator, and %j is none',
    async (operator) => {
      await billOf(harness, 'A-1');
      const erased = harness.host.app.get(PaymentOperations).eraseOrder({ orderId: 'A-1' }, { operator });
      await expect(erased).rejects.toThrow('Specify in "operator" who is doing this.');
      expect(await placesOf(harness.host.dataSource, PERSON)).toContain('bill.custom');
    },
  );

  test('an error of the database quotes neither the parameters of the statement nor the row', async () => {
    const { dataSource } = harness.host;
    await dataSource.query('ALTER TABLE payment_acceptance.bill ADD CONSTRAINT trouble CHECK (1 = 0)');
    try {
      const bill = { orderId: 'A-1', billId: 'b-1', amount: '10', createdAt: new Date(), custom: PERSON };
      const importing = harness.host.app.get(PaymentImport).importBills([bill], { operator: 'ann' });
      const error: unknown = await importing.catch((thrown: unknown) => thrown);
      expect(String(error)).toContain('trouble');
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(PERSON);
    } finally {
      await dataSource.query('ALTER TABLE payment_acceptance.bill DROP CONSTRAINT trouble');
    }
  });

  test('an open bill can still be paid after an erasure', async () => {
    const billId = await billOf(harness, 'A-1');
    await commands.command('erase', '--order', 'A-1');
    expect((await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' })).billId).toBe(billId);
    await payByCard(harness, billId);
    await harness.settle();
    expect(Clerk.of('A-1')).toMatchObject([{ name: 'payment.succeeded', amount: '10.00', redacted: true }]);
  });
});
