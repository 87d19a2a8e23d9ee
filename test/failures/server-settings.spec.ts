import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { readFileSync } from 'node:fs';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';
import { onPostgres } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';
import { until } from '../support/until.js';

@Injectable()
class Letters {
  @OnPaymentSucceeded({ consumer: 'letters' })
  async take(): Promise<void> {}
}

onPostgres(describe)('settings and states of a server', () => {
  let harness: Harness;
  afterEach(async () => {
    await harness.close();
    jest.restoreAllMocks();
  });

  const paid = async (orderId: string): Promise<void> => {
    await pay(harness, orderId);
    await harness.settle();
  };

  test('sequences left behind by a replication are reported, and repaired by the documented statements', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const { dataSource } = harness.host;
    for (const orderId of ['A-1', 'A-2', 'A-3']) await paid(orderId);
    await dataSource.query('ALTER TABLE payment_acceptance.event ALTER seq RESTART');
    await dataSource.query('ALTER TABLE payment_acceptance.delivery ALTER id RESTART');
    await paid('B-1');
    expect(await harness.effects()).toHaveLength(3);
    const { app } = await harness.start({ providers: [EffectWriter, Letters] });
    const deliver = () => app.get(PaymentOperations).deliverPastEvents({ consumer: 'letters' }, { operator: 'ann' });
    await expect(deliver()).rejects.toThrow('delivery_pkey');
    const statements = codeBlocks(readFileSync('docs/failover.md', 'utf8')).find(({ text }) =>
      text.includes('setval'),
    )!;
    for (const statement of statements.text.split('\n')) await dataSource.query(statement);
    expect(await deliver()).toBe(3);
    harness.clock.advance(3_600_000);
    await harness.settle();
    expect(await harness.effects()).toHaveLength(4);
  });

  test('a limit on idle sessions does not end the listening session', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    harness = await startHarness();
    const { dataSource } = harness.host;
    const [{ name }] = await dataSource.query<[{ name: string }]>('SELECT current_database() AS name');
    await dataSource.query(`ALTER DATABASE ${name} SET idle_session_timeout = '1s'`);
    await harness.start({ options: { autoStart: true, wakeUps: 'listen' } });
    const listening = () =>
      dataSource.query<{ pid: number }[]>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%'`,
      );
    const before = await until(listening, (sessions) => sessions.length > 0);
    await dataSource.query('SELECT pg_sleep(2)');
    expect(await listening()).toEqual(before);
    expect(
      warned.mock.calls.map(([line]) => JSON.stringify(line)).filter((line) => /wake-ups-lost/.test(line)),
    ).toEqual([]);
  });
});
