import { describe, expect, jest, test } from '@jest/globals';
import { PaymentOperatorActionError, PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import { InquiryStore } from '../../libs/payment-acceptance/src/settlement/storage/inquiry.store.js';
import { reported } from '../support/units.js';
import { until } from '../support/until.js';
import { CREATION, DAY, HOUR, MINUTE, useLostBills } from './support/lost-bills.js';

describe('lost bills', () => {
  const world = useLostBills();

  const isDegraded = async (): Promise<boolean> => {
    const { payments } = await world.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    return payments.degraded.includes('lost-bills');
  };

  test('a bill that the service confirms counts as lost, with the listed payments and an unverified order', async () => {
    const billId = await world.lose('forgotten');
    expect(await world.inquire()).toBe(0); // its creation might still be in progress
    world.harness.clock.advance(CREATION);
    expect(await world.inquire()).toBe(1);
    expect(world.asked).toEqual([billId]);
    expect(await world.operations.lostBills()).toEqual([
      {
        id: expect.any(String),
        shop: 'main',
        billId,
        namedOrderId: 'forgotten',
        namedOrderCount: 1,
        unknownIntentId: null,
        payments: [
          expect.objectContaining({
            status: 'SUCCESS',
            amount: '10.00',
            currency: 'RUB',
            createdAt: expect.any(String),
          }),
        ],
        paymentCount: 1,
        firstPostbackAt: expect.any(String),
        foundAt: expect.any(String),
        askedAt: expect.any(String),
      },
    ]);
    expect(await world.operations.stats()).toMatchObject({ lostBills: 1 });
    await until(isDegraded, (degraded) => degraded);
    // This alone changes nothing.
    await world.harness.settle();
    const { bills, events } = await world.harness.host.ledger();
    expect([bills, events].flat().filter((row) => row.billId === billId)).toEqual([]);
  });

  test('a lost bill is imported for the order that a person confirms, and settles like any other', async () => {
    const lost = await world.find('told by nobody');
    const told = { amount: '10.00', operator: 'ann', note: 'found in the order book' };
    await expect(world.operations.takeInLostBill(lost.id, { ...told, orderId: '' })).rejects.toBeInstanceOf(
      PaymentOperatorActionError,
    );
    await world.operations.takeInLostBill(lost.id, { ...told, orderId: 'confirmed' });
    expect(await world.operations.stats()).toMatchObject({ lostBills: 0 });
    await world.harness.settle();
    expect(await world.harness.effects()).toContainEqual(expect.objectContaining({ orderId: 'confirmed' }));
    const bill = (await world.harness.host.ledger()).bills.find(({ billId }) => billId === lost.billId);
    expect(bill).toMatchObject({ orderId: 'confirmed', state: 'PAID' });
    expect(await actionsOn(bill!.intentId)).toEqual([
      { operator: 'ann', action: 'import-bill', detail: expect.objectContaining({ note: 'found in the order book' }) },
    ]);
    await expect(world.operations.takeInLostBill(lost.id, { ...told, orderId: 'again' })).rejects.toThrow(
      /no lost bill/,
    );
  });

  test('a lost bill is dismissed with a note, and then neither counts nor causes another inquiry', async () => {
    const lost = await world.find('of the till');
    await expect(world.operations.dismissLostBill(lost.id, { operator: 'ann', note: ' ' })).rejects.toThrow(/note/);
    await world.operations.dismissLostBill(lost.id, { operator: 'ann', note: 'made by the till' });
    expect(await world.operations.stats()).toMatchObject({ lostBills: 0 });
    expect(await actionsOn(lost.id)).toEqual([
      {
        operator: 'ann',
        action: 'dismiss-lost-bill',
        detail: { shop: 'main', serviceBillId: lost.billId, note: 'made by the till' },
      },
    ]);
    world.asked = [];
    await world.post(lost.billId, 'another try');
    await world.inquireFor(2 * DAY, HOUR);
    expect(world.asked).toEqual([]);
  });

  test('a lost bill dismissed during an inquiry keeps nothing of its answer', async () => {
    const lost = await world.find('asked meanwhile');
    await world.operations.dismissLostBill(lost.id, { operator: 'ann', note: 'made by the till' });
    const inquiries = world.harness.host.app.get(InquiryStore, { strict: false });
    expect(await inquiries.storeConfirmed('main', lost.billId, [reported({ billId: lost.billId })])).toBe(false);
    await inquiries.noteAsked('main', [{ billId: lost.billId, asks: 1 }], 1_000);
    const [row] = await world.harness.host.dataSource.query<object[]>(
      `SELECT payments, ask_after AS again FROM payment_acceptance.lost_bill WHERE state = 'DISMISSED' ORDER BY asked_at DESC`,
    );
    expect(row).toEqual({ payments: null, again: null });
  });

  test('a lost bill taken in during an inquiry keeps nothing of its answer: the order may be erased by now', async () => {
    const lost = await world.find('asked and taken in');
    await world.operations.takeInLostBill(lost.id, { amount: '10.00', operator: 'ann', orderId: 'taken in' });
    await world.operations.eraseOrder({ orderId: 'taken in' }, { operator: 'ann' });
    const inquiries = world.harness.host.app.get(InquiryStore, { strict: false });
    expect(await inquiries.storeConfirmed('main', lost.billId, [reported({ billId: lost.billId })])).toBe(false);
    const rows = await world.harness.host.dataSource.query<object[]>(
      `SELECT payments FROM payment_acceptance.lost_bill WHERE state = 'LOST' AND bill_id = '${lost.billId}'`,
    );
    expect(rows).toEqual([{ payments: null }]);
  });

  test('a lost bill is imported with its own shop, id and time, whatever a caller passes', async () => {
    const lost = await world.find('named otherwise');
    const more = { shop: 'eu', billId: 'chosen', createdAt: '2020-01-01T00:00:00Z' };
    const known = { orderId: 'as told', amount: '10.00', operator: 'ann' };
    await world.operations.takeInLostBill(lost.id, { ...known, ...more });
    const { bills } = await world.harness.host.ledger();
    expect(bills.find(({ orderId }) => orderId === 'as told')).toMatchObject({ shop: 'main', billId: lost.billId });
    await world.harness.settle();
  });

  test('a lost bill is not visible to an operator of another shop', async () => {
    const lost = await world.find('of main');
    const eu = world.operations.forShop('eu');
    expect(await eu.lostBills()).toEqual([]);
    expect(await eu.stats()).toMatchObject({ lostBills: 0 });
    await expect(eu.dismissLostBill(lost.id, { operator: 'bob', note: 'not mine' })).rejects.toThrow(/no lost bill/);
    await expect(eu.takeInLostBill(lost.id, { orderId: 'x', amount: '10', operator: 'bob' })).rejects.toThrow(
      /no lost bill/,
    );
    expect(await world.operations.forShop('main').lostBills()).toHaveLength(1);
    expect(await world.operations.lostBills(1, lost.id)).toEqual([]);
  });

  test('a lost bill no longer counts once it is attached to its unknown outcome', async () => {
    await world.harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    const unknown = await world.harness.host.payments
      .createBill({ orderId: 'unheard', amount: '10' })
      .catch((error: unknown) => error);
    const { intentId } = unknown as { intentId: string };
    await world.harness.sandbox.clearFaults();
    const { id: billId } = world.harness.sandbox.bills().find(({ custom }) => custom === intentId)!;
    await world.harness.sandbox.pay(billId);
    await world.harness.sandbox.settled();
    world.harness.clock.advance(CREATION);
    await world.inquire();
    expect(await world.operations.lostBills()).toMatchObject([{ billId, unknownIntentId: intentId }]);
    await world.operations.attachBill(intentId, billId, { operator: 'ann' });
    expect(await world.operations.lostBills()).toEqual([]);
    await world.harness.settle();
  });

  test('a bill is attached to an order that no postback of it names only if the operator insists', async () => {
    await world.harness.sandbox.setFaults({ requests: { loseAnswer: { p: 1, times: 2 } } });
    const intents: string[] = [];
    for (const orderId of ['one', 'other']) {
      await world.harness.host.payments.createBill({ orderId, amount: '10' }).catch((error: unknown) => {
        intents.push((error as { intentId: string }).intentId);
      });
    }
    await world.harness.sandbox.clearFaults();
    const { id: billId } = world.harness.sandbox.bills().find(({ custom }) => custom === intents[0])!;
    await world.harness.sandbox.pay(billId);
    await world.harness.sandbox.settled();
    const attach = (despitePostbacks?: boolean) =>
      world.operations.attachBill(intents[1]!, billId, { operator: 'ann', despitePostbacks });
    await expect(attach()).rejects.toThrow(`Postbacks of bill ${billId} name order one, not other.`);
    await world.post(billId, 'other');
    await world.operations.attachBill(intents[0]!, billId, { operator: 'ann' });
    await expect(attach(true)).rejects.toThrow('already belongs to another order');
    await world.harness.settle();
  });

  test('a lost bill shows how many orders its postbacks name', async () => {
    const billId = await world.lose('genuine');
    await world.post(billId, 'somebody else’s');
    world.harness.clock.advance(CREATION);
    await world.inquire();
    expect(await world.operations.lostBills()).toMatchObject([{ billId, namedOrderId: 'genuine', namedOrderCount: 2 }]);
  });

  test('a lost bill is updated with the payments that the service lists', async () => {
    const billId = await world.lose('twice', { outcome: 'fail' });
    world.harness.clock.advance(CREATION);
    await world.inquire();
    expect(await world.operations.lostBills()).toMatchObject([
      { billId, paymentCount: 1, payments: [{ status: 'FAIL' }] },
    ]);
    await world.harness.sandbox.pay(billId);
    // Even if chance picks bills that were never queried, of which there are none.
    const chances = world.harness.instances.map(({ app }) =>
      jest.spyOn(app.get(PaymentRandom), 'fraction').mockReturnValue(0.9),
    );
    await world.inquireFor(HOUR, 4 * MINUTE);
    for (const chance of chances) chance.mockRestore();
    expect(await world.operations.lostBills()).toMatchObject([
      { billId, paymentCount: 2, payments: [{ status: 'SUCCESS' }, { status: 'FAIL' }] },
    ]);
  });

  async function actionsOn(target: string): Promise<object[]> {
    return world.query(
      'SELECT operator, action, detail FROM payment_acceptance.operator_action WHERE target = $1 ORDER BY at',
      [target],
    );
  }
});
