import { afterEach, describe, expect, test } from '@jest/globals';
import type { PaymentShopOptions } from 'nestjs-payment-acceptance';
import { PaymentReconciliation, PaymentRecovery } from 'nestjs-payment-acceptance/operations';
import { commandsOf } from '../support/commands.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';

describe('a shop that is refused, or whose settings cannot be read', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('a refused or unreadable shop does not keep others from being reconciled, and its error comes last', async () => {
    harness = await startHarness();
    const { payments } = harness.host;
    for (let order = 0; order < 11; order += 1)
      await payments.createBill({ orderId: `of-main-${order}`, amount: '10' });
    const { billId } = await payments.shop('eu').createBill({ orderId: 'of-eu', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    await harness.sandbox.putShop('shop-main', { banned: true });
    const day = harness.clock.now().toISOString().slice(0, 10);
    const rows: string[] = [];
    const reconciling = async () => {
      for await (const { shop, error } of harness.host.app.get(PaymentReconciliation).reconcile({ day })) {
        rows.push(`${shop} ${error ?? 'compared'}`);
      }
    };
    const failed = [{ shop: 'main', error: 'merchant-banned' }];
    await expect(reconciling()).rejects.toMatchObject({ code: 'reconciliation-incomplete', failed });
    expect(rows.at(-1)).toBe('eu compared');
    expect(rows.filter((row) => row.startsWith('main'))).toHaveLength(9);
    const commands = commandsOf(harness);
    const { code, document } = await commands.json('reconcile', '--day', day);
    commands.close();
    expect([code, document]).toEqual([1, expect.objectContaining({ failed })]);
    expect((document as { rows: unknown[] }).rows).toHaveLength(rows.length);
  });

  test('a refused or unreadable shop does not keep others from being recovered, and is named in the report', async () => {
    harness = await startHarness();
    await harness.host.payments.createBill({ orderId: 'known', amount: '10' });
    const shopResolver = {
      list: () => Promise.resolve(['a-tenant']),
      find: () => Promise.resolve({ shopId: '', apiToken: '', apiBaseUrl: 'nowhere' } as PaymentShopOptions),
    };
    const host = await harness.start({ options: { ...moduleOptions(harness.sandboxUrl), shopResolver } });
    const report = await host.app.get(PaymentRecovery).recover({ since: new Date(0), operator: 'ann' });
    expect(report.failed).toEqual([{ shop: 'a-tenant', error: expect.stringContaining('a-tenant') }]);
    expect(report.shops).toContainEqual({ shop: 'main', rechecked: 1, withinSeconds: 1 });
  });
});
