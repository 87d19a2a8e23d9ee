import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentSucceededEvent, type PaymentTransactions } from 'nestjs-payment-acceptance';
import { DataSource, type EntityManager } from 'typeorm';
import {
  addTransactionalDataSource,
  deleteDataSourceByName,
  initializeTransactionalContext,
  IsolationLevel,
  Propagation,
  runInTransaction,
} from 'typeorm-transactional';
import { ON_MARIADB } from '../support/database.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';

describe('handlers that call @Transactional() services', () => {
  let harness: Harness;
  let dataSource: DataSource;
  let attempts = 0;

  afterEach(async () => {
    deleteDataSourceByName('default');
    await dataSource.destroy();
    await harness.close();
  });

  /** As docs/data-layers.md prints it. */
  const transactions: PaymentTransactions<EntityManager> = {
    placeholders: ON_MARIADB ? '?' : '$1',
    run: (work) =>
      runInTransaction(() => work(dataSource.manager), {
        propagation: Propagation.REQUIRES_NEW,
        isolationLevel: IsolationLevel.READ_COMMITTED,
      }),
    async query(manager, sql, values) {
      const { records, affected } = await manager.queryRunner!.query(sql, [...values], true);
      return { rows: records, rowCount: affected ?? 0 };
    },
  };

  @Injectable()
  class Orders {
    @OnPaymentSucceeded({ consumer: 'orders' })
    async take({ paymentId, orderId }: PaymentSucceededEvent): Promise<void> {
      attempts += 1;
      const consumer = `attempt ${attempts}`;
      // What @Transactional() does.
      await runInTransaction(() => dataSource.manager.insert(Effect, { consumer, event: 'paid', paymentId, orderId }));
      if (attempts === 1) throw new Error('once');
    }
  }

  test('a service of typeorm-transactional takes part in the transaction of the handler: a failed attempt leaves nothing', async () => {
    initializeTransactionalContext();
    harness = await startHarness({ adapter: 'express' });
    const { databaseUrl: url } = harness;
    dataSource = new DataSource({ type: ON_MARIADB ? 'mariadb' : 'postgres', url, entities: [Effect] });
    addTransactionalDataSource(dataSource);
    await dataSource.initialize();
    await harness.start({ providers: [Orders], options: { transactions } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    harness.clock.advance(10_000);
    await harness.settle();
    expect((await harness.effects()).map(({ consumer }) => consumer)).toEqual(['attempt 2']);
    const { events } = await harness.host.ledger();
    expect(events[0]!.deliveries).toMatchObject([{ consumer: 'orders', state: 'DONE', attempts: 2 }]);
  });
});
