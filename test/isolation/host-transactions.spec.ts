import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { DataSource, type EntityManager } from 'typeorm';
import * as newest from 'typeorm-transactional';
import * as older from 'typeorm-transactional-0.4';
import { Effect, startHarness, type Harness } from '../support/harness.js';

/** How a host runs everything within a call in one transaction. */
type Joining = (dataSource: DataSource, work: () => Promise<void>) => Promise<void>;

/** By the package, which changes the data source. */
const byPackage =
  ({
    initializeTransactionalContext,
    addTransactionalDataSource,
    deleteDataSourceByName,
    runInTransaction,
  }: typeof newest): Joining =>
  async (dataSource, work) => {
    initializeTransactionalContext();
    addTransactionalDataSource({ name: 'host', dataSource });
    await runInTransaction(work, { connectionName: 'host' }).finally(() => deleteDataSourceByName('host'));
  };

/** By hand, with a manager that follows the call. */
const byHand: Joining = async (dataSource, work) => {
  const current = new AsyncLocalStorage<EntityManager>();
  const own = dataSource.manager;
  Object.defineProperty(dataSource, 'manager', { get: () => current.getStore() ?? own, configurable: true });
  await own.transaction((manager) => current.run(manager, work));
};

async function createOrder2({ host }: Harness): Promise<void> {
  await host.payments.createBill({ orderId: 'order-2', amount: '10' });
}

describe("a host's transaction around a call of the module", () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test.each<[string, Joining]>([
    ['typeorm-transactional 0.5', byPackage(newest)],
    ['typeorm-transactional 0.4', byPackage(older as unknown as typeof newest)],
    ['a manager that follows the call', byHand],
  ])("a host's transaction that is rolled back keeps the module's bill: %s", async (_how, join) => {
    harness = await startHarness({});
    const dataSource = harness.host.app.get(DataSource);
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    let made: string | undefined;
    const rolledBack = join(dataSource, async () => {
      await dataSource.manager.insert(Effect, { consumer: 'host', event: 'e', paymentId: 'p', orderId: 'o' });
      made = (await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' })).billId;
      throw new Error('no stock');
    });
    await expect(rolledBack).rejects.toThrow('no stock');
    expect(await harness.effects()).toEqual([]);
    expect((await harness.host.ledger()).bills).toEqual([
      expect.objectContaining({ orderId: 'order-1', billId: made, state: 'OPEN' }),
    ]);
    expect(warned).toHaveBeenCalledTimes(1);
    const again = await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    expect(again.billId).toBe(made);
    await expect(join(dataSource, () => createOrder2(harness))).resolves.toBeUndefined();
    const warnings = warned.mock.calls.map(([line]) => String(line));
    expect(warnings).toEqual([expect.stringContaining('the bill stays if you roll back')]);
    warned.mockRestore();
  });
});
