import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { startGate, type Gate } from '../support/gate.js';
import { moduleOptions, startHarness, type Harness, type Instance } from '../support/harness.js';
import { Operator } from '../console/support/operator.js';
import { registerSdk, type Sdk } from './sdk.js';

/** The handler waits for it. */
let ended: Promise<void> | undefined;
let began = (): void => undefined;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): Promise<void> | undefined {
    began();
    return ended;
  }
}

describe('the workload of an instance', () => {
  let sdk: Sdk;
  let harness: Harness;
  let service: Gate;
  let host: Instance;
  beforeEach(async () => {
    ended = undefined;
    sdk = registerSdk();
    harness = await startHarness({ providers: [Orders], imports: [PaymentConsoleModule.register()] });
    service = await startGate(harness.sandboxUrl);
    host = await harness.start({ options: { shops: moduleOptions(service.url).shops } });
  });
  afterEach(async () => {
    service.open();
    await harness.close();
    await service.close();
    sdk.end();
  });

  const workload = (shop?: string) => {
    const operations = host.app.get(PaymentOperations);
    return (shop === undefined ? operations : operations.forShop(shop)).workload();
  };

  async function paidBill(orderId: string): Promise<string> {
    const { billId } = await host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
    harness.clock.advance(60_000);
    return billId;
  }

  test('the workload is empty at first, with half of the pool for handlers', () => {
    expect(workload()).toEqual({ checks: [], deliveries: { running: 0, inTransactions: 0, limit: 5 } });
  });

  test("the workload includes running checks, in the metrics, on the console and in the shop's view", async () => {
    await paidBill('asked');
    service.shut();
    const checks = host.confirmer.runOnce();
    await service.reached();
    const main = { shop: 'main', running: 1, limit: 8, requestsPerSecond: expect.any(Number), pausedUntil: null };
    expect(workload().checks).toEqual([main]);
    expect([workload('main').checks, workload('eu').checks]).toEqual([[main], []]);
    expect(await sdk.values('payment_acceptance.checks.running')).toEqual({ 'shop=main': 1 });
    expect(await sdk.values('payment_acceptance.checks.limit')).toEqual({ 'shop=main': 8 });
    expect(await sdk.values('payment_acceptance.checks.rate.limit')).toEqual({ 'shop=main': main.requestsPerSecond });
    const page = await new Operator(`${host.url}/payment-console`).open();
    expect(page.text).toMatch(/This instance now main 1 of 8 requests at once, \d+ a second at most Handlers 0 of 5/);
    service.open();
    await checks;
    expect(workload().checks).toMatchObject([{ running: 0 }]);
    harness.clock.advance(61_000);
    expect(workload().checks).toEqual([]);
    for (const gauge of ['running', 'limit', 'rate.limit'])
      expect(await sdk.values(`payment_acceptance.checks.${gauge}`)).toEqual({ 'shop=main': 0 });
  });

  test('the workload shows until when the service asks for a pause', async () => {
    const billId = await paidBill('paused');
    service.answer(billId, { status: 429, headers: { 'retry-after': '30' }, body: '{"message":"slow down"}' });
    await host.confirmer.runOnce();
    const [main] = workload().checks;
    expect(main).toMatchObject({ shop: 'main', running: 0, limit: 4 });
    const pauseMs = Date.parse(main!.pausedUntil!) - harness.clock.now().getTime();
    expect(pauseMs).toBeGreaterThan(20_000);
    expect(pauseMs).toBeLessThanOrEqual(30_000);
    const page = await new Operator(`${host.url}/payment-console`).open();
    expect(page.text).toMatch(/at most, paused by the service until \d+ \w+ \d+, [\d:]+ UTC/);
    harness.clock.advance(30_000);
    expect(workload().checks).toMatchObject([{ pausedUntil: null }]);
  });

  test('the workload includes running handlers', async () => {
    await paidBill('told');
    await host.confirmer.runOnce();
    let end = (): void => undefined;
    ended = new Promise((resolve) => (end = resolve));
    const running = new Promise<void>((resolve) => (began = resolve));
    const deliveries = host.deliveries.runOnce();
    await running;
    expect(workload().deliveries).toEqual({ running: 1, inTransactions: 1, limit: 5 });
    expect(await sdk.values('payment_acceptance.deliveries.running')).toEqual({ '': 1 });
    expect(await sdk.values('payment_acceptance.handlers.running')).toEqual({ '': 1 });
    expect(await sdk.values('payment_acceptance.handlers.limit')).toEqual({ '': 5 });
    end();
    await deliveries;
    expect(workload().deliveries).toEqual({ running: 0, inTransactions: 0, limit: 5 });
  });
});
