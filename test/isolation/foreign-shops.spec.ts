import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger, type Type } from '@nestjs/common';
import { OnPaymentSucceeded, PaymentConfigurationError, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness, type Instance } from '../support/harness.js';

/** The events that each application's handlers received. */
const taken: Record<string, string[]> = {};

/** The orders of an application: all have one consumer name. */
function ordersOf(application: string): Type {
  taken[application] = [];
  @Injectable()
  class Orders {
    @OnPaymentSucceeded({ consumer: 'orders' })
    take({ shop, orderId }: PaymentSucceededEvent): void {
      taken[application]!.push(`${orderId} of ${shop}`);
    }
  }
  return Orders;
}

describe('two applications with different shops on the same tables', () => {
  let harness: Harness;
  let tea: Instance;
  const shopOf = (name: string, shopId: string, apiToken: string) => ({
    shops: { [name]: { shopId, apiToken, apiBaseUrl: harness.sandboxUrl, currency: 'RUB', requestsPerSecond: 1000 } },
    defaultShop: name,
  });

  const logged: string[] = [];
  beforeEach(async () => {
    logged.length = 0;
    for (const level of ['error', 'warn'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => void logged.push(String(line)));
    }
    harness = await startHarness({ providers: [ordersOf('first')] });
    tea = await harness.start({
      providers: [ordersOf('tea')],
      options: shopOf('tea', 'shop-main', MAIN_TOKEN),
    });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  async function paidForTea(orderId: string): Promise<void> {
    const { billId } = await tea.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(3_600_000);
    await tea.confirmer.runOnce();
  }

  test("an application takes no events of another's shops, and counts no attempts for them", async () => {
    await paidForTea('1001');
    await harness.host.deliveries.runOnce();
    expect(taken).toEqual({ first: [], tea: [] });
    const [{ attempts }] = await harness.host.dataSource.query<[{ attempts: number | string }]>(
      'SELECT attempts FROM payment_acceptance.delivery',
    );
    expect(Number(attempts)).toBe(0);
    // It is not met again and again.
    expect(await harness.host.deliveries.runOnce()).toBe(0);
    expect(logged.filter((line) => line.includes('know shop "tea"') && line.includes('events'))).toHaveLength(1);
    await tea.deliveries.runOnce();
    expect(taken).toEqual({ first: [], tea: ['1001 of tea'] });
    // Each minute it is seen whether the shop is known by now.
    harness.clock.advance(60_000);
    await paidForTea('1002');
    await harness.host.deliveries.runOnce();
    expect(taken).toEqual({ first: [], tea: ['1001 of tea'] });
  });

  test('an application does not start with a shop name that another application uses for another shop', async () => {
    const start = harness.start({ options: shopOf('tea', 'shop-eu', EU_TOKEN) });
    await expect(start).rejects.toThrow(PaymentConfigurationError);
    await expect(start).rejects.toThrow(/shops\.tea\.shopId: .*"shop-main", not "shop-eu".*option "schema"/);
  });

  test("an application warns once where a shop's address has changed, and starts", async () => {
    const moved = shopOf('tea', 'shop-main', MAIN_TOKEN);
    moved.shops.tea!.apiBaseUrl = harness.sandboxUrl.replace('127.0.0.1', 'localhost');
    await harness.start({ options: moved });
    const said = (): string[] => logged.filter((line) => line.includes('Shop "tea" has moved from '));
    expect(said()).toEqual([expect.stringContaining(`has moved from ${harness.sandboxUrl} to `)]);
    await harness.start({ options: moved });
    expect(said()).toHaveLength(1);
  });
});
