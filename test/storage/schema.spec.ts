import { afterEach, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
import { connectionOf } from '../support/database.js';
import { startHarness, type Harness, type Instance } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';

describe('the schema option', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  const billsOf = async (instance: Instance) =>
    (await instance.ledger()).bills.map(({ orderId, state }) => [orderId, state]);

  test('two applications with different schemas share a database without sharing data', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const other = await harness.start({ options: { schema: 'other_payments' } });
    await pay(harness, 'order-1');
    expect(await other.confirmer.runOnce()).toBe(0);
    const created = await other.payments.createBill({ orderId: 'order-1', amount: '20.00' });
    await harness.settle();
    expect(await billsOf(harness.host)).toEqual([['order-1', 'PAID']]);
    expect(await billsOf(other)).toEqual([['order-1', 'OPEN']]);
    expect((await other.ledger()).bills[0]?.billId).toBe(created.billId);
  });

  test('migratePaymentAcceptance creates the tables of a schema, and can be repeated', async () => {
    harness = await startHarness({});
    const dataSource = await new DataSource(connectionOf(harness.databaseUrl)).initialize();
    try {
      await Promise.all([1, 2].map(() => migratePaymentAcceptance(dataSource, { schema: 'made_before' })));
      await migratePaymentAcceptance(dataSource, { schema: 'made_before' });
      const started = await harness.start({ options: { schema: 'made_before', migrations: 'verify' } });
      expect(await billsOf(started)).toEqual([]);
      await expect(migratePaymentAcceptance(dataSource, { schema: 'not"one' })).rejects.toThrow(RangeError);
    } finally {
      await dataSource.destroy();
    }
  });
});
