import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { startGate } from '../support/gate.js';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

/** More than all places at once. */
const MANY = 24;

describe('a hanging neighbour', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  async function pay(orderId: string, shop: string): Promise<void> {
    const { billId } = await harness.host.payments.shop(shop).createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
  }

  const paidOf = async (shop: string): Promise<number> =>
    (await harness.host.ledger()).bills.filter((bill) => bill.shop === shop && bill.state === 'PAID').length;

  test('a consumer whose handlers hang does not hold up other consumers', async () => {
    let begun = 0;
    let letGo = (): void => undefined;
    const hung = new Promise<void>((resolve) => (letGo = resolve));
    @Injectable()
    class Hangs {
      @OnPaymentSucceeded({ consumer: 'hangs' })
      take(): Promise<void> {
        begun += 1;
        return hung;
      }
    }
    harness = await startHarness({ providers: [Hangs, EffectWriter] });
    const { confirmer, deliveries } = harness.host;
    for (let order = 0; order < MANY; order += 1) await pay(`order-${order}`, 'main');
    await harness.sandbox.settled();
    while ((await confirmer.runOnce()) > 0);
    deliveries.start();
    await until(
      () => harness.effects(),
      (effects) => effects.length === MANY,
    );
    expect(begun).toBe(2);
    letGo();
    await until(
      () => harness.effects(),
      () => begun === MANY,
    );
    await deliveries.stop();
  });

  test('many shops whose common service hangs do not hold up shops at another address', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const gate = await startGate(harness.sandboxUrl);
    const settings = { currency: 'RUB', requestsPerSecond: 1000 };
    const tenants = Object.fromEntries(
      ['eu', 'kz', 'by'].map((name) => [
        name,
        { ...settings, shopId: 'shop-eu', apiToken: EU_TOKEN, apiBaseUrl: gate.url, currency: 'EUR' },
      ]),
    );
    const main = { ...settings, shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: harness.sandboxUrl };
    const beside = await harness.start({ options: { shops: { ...tenants, main }, checks: { concurrency: 6 } } });
    const sell = async (shop: string, orderId: string) => {
      const { billId } = await beside.payments.shop(shop).createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    };
    for (let order = 0; order < MANY; order += 1) await sell(Object.keys(tenants)[order % 3]!, `order-${order}`);
    await harness.sandbox.settled();
    // All are due by their schedule: postbacks name only one of the names.
    harness.clock.advance(120_000);
    gate.shut();
    beside.confirmer.start();
    await gate.reached();
    for (let order = 0; order < MANY; order += 1) await sell('main', `order-${order}`);
    await harness.sandbox.settled();
    beside.confirmer.wake();
    await until(
      () => paidOf('main'),
      (paid) => paid === MANY,
    );
    expect((await Promise.all(Object.keys(tenants).map(paidOf))).join()).toBe('0,0,0');
    gate.open();
    await beside.confirmer.stop();
    await gate.close();
  });

  test('a shop whose service hangs does not hold up other shops', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const gate = await startGate(harness.sandboxUrl);
    const settings = { currency: 'RUB', requestsPerSecond: 1000 };
    const beside = await harness.start({
      options: {
        shops: {
          main: { ...settings, shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: harness.sandboxUrl },
          eu: { ...settings, shopId: 'shop-eu', apiToken: EU_TOKEN, apiBaseUrl: gate.url, currency: 'EUR' },
        },
      },
    });
    for (let order = 0; order < MANY; order += 1) await pay(`order-${order}`, 'eu');
    await harness.sandbox.settled();
    gate.shut();
    beside.confirmer.start();
    await gate.reached();
    for (let order = 0; order < MANY; order += 1) await pay(`order-${order}`, 'main');
    await harness.sandbox.settled();
    beside.confirmer.wake();
    await until(
      () => paidOf('main'),
      (paid) => paid === MANY,
    );
    expect(await paidOf('eu')).toBe(0);
    gate.open();
    await until(
      () => paidOf('eu'),
      (paid) => paid === MANY,
    );
    await beside.confirmer.stop();
    await gate.close();
  });
});
