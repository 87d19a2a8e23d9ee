import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentChecks,
  PaymentDoctor,
  PaymentImport,
  PaymentReconciliation,
  type BillToImport,
} from 'nestjs-payment-acceptance/operations';
import { PaymentUnknownShopError } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';

const SERVICES = [PaymentChecks, PaymentDoctor, PaymentImport, PaymentReconciliation];
const today = () => new Date().toISOString().slice(0, 10);

let harness: Harness;

const billOf = async (shop: string) =>
  (await harness.host.ledger()).bills.find((bill) => bill.orderId === `of-${shop}`)!;

describe('operators of one shop', () => {
  beforeAll(async () => {
    harness = await startHarness({ options: { http: { attempts: 1 } } });
    for (const shop of ['main', 'eu']) {
      const { billId } = await harness.host.payments.shop(shop).createBill({ orderId: `of-${shop}`, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.settle();
  });
  afterAll(() => harness.close());

  test.each(SERVICES)('%p.forShop() returns a view of that shop alone, and none for an unknown shop', (service) => {
    const whole: { forShop(name: string): object } = harness.host.app.get(service);
    const view = whole.forShop('eu');
    expect('forShop' in view).toBe(false);
    expect(Object.values(view).every((member) => typeof member === 'function')).toBe(true);
    for (const name of ['us', '', '__proto__', 'EU', 'eu '])
      expect(() => whole.forShop(name)).toThrow(PaymentUnknownShopError);
  });

  test('a check for one shop finds only its bills, by either id, and sends no request about others', async () => {
    const checks = harness.host.app.get(PaymentChecks).forShop('eu');
    const [own, other] = [await billOf('eu'), await billOf('main')];
    expect(await checks.check(own.billId!)).toMatchObject({ shop: 'eu', orderId: 'of-eu' });
    expect(await checks.check(own.intentId)).toMatchObject({ shop: 'eu', orderId: 'of-eu' });
    const asked = harness.sandbox.requests.length;
    for (const id of [other.billId!, other.intentId]) {
      await expect(checks.check(id)).rejects.toThrow(/Shop "eu" has no bill/);
      // A caller in JavaScript may pass additional arguments.
      const widened = checks.check as (bill: string, shop?: string) => Promise<unknown>;
      await expect(widened(id, 'main')).rejects.toThrow(/Shop "eu" has no bill/);
    }
    expect(harness.sandbox.requests).toHaveLength(asked);
  });

  test('a reconciliation for one shop has only its payments, whatever it is asked for', async () => {
    const reconciliation = harness.host.app.get(PaymentReconciliation).forShop('eu');
    const shops = [];
    const options = { day: today(), shop: 'main' };
    for await (const row of reconciliation.reconcile(options)) shops.push(row.shop);
    expect(shops).toEqual(['eu']);
  });

  test('an examination for one shop covers only that shop', async () => {
    const doctor = harness.host.app.get(PaymentDoctor);
    const all = new Set((await doctor.examine()).map(({ shop }) => shop));
    const own = new Set((await doctor.forShop('eu').examine()).map(({ shop }) => shop));
    expect([[...all].filter((shop) => ['main', 'eu'].includes(shop)), [...own]]).toEqual([['main', 'eu'], ['eu']]);
  });

  test('an import for one shop accepts its bills or those without a shop, and refuses others', async () => {
    const imports = harness.host.app.get(PaymentImport).forShop('eu');
    const bill = (orderId: string, shop?: string): BillToImport => ({
      orderId,
      billId: `older-${orderId}`,
      amount: '1.00',
      createdAt: new Date(),
      ...(shop !== undefined && { shop }),
    });
    const given = [bill('a'), bill('b', 'eu'), bill('c', 'main'), bill('d', 'nobody')];
    for (const dryRun of [true, false]) {
      const { imported, refused } = await imports.importBills(given, { operator: 'ann', dryRun });
      expect(imported).toBe(2);
      expect(refused.map(({ orderId, problems }) => [orderId, ...problems])).toEqual([
        ['c', 'There is no shop "main".'],
        ['d', 'There is no shop "nobody".'],
      ]);
    }
    const { bills } = await harness.host.ledger();
    const own = bills.filter(({ billId }) => billId?.startsWith('older-'));
    expect(own.map(({ shop, orderId }) => `${shop} ${orderId}`).sort()).toEqual(['eu a', 'eu b']);
  });
});
