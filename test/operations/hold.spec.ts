import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentOrderNotFoundError,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import {
  PaymentHealthIndicator,
  PaymentImport,
  PaymentOperations,
  type BillToImport,
} from 'nestjs-payment-acceptance/operations';
import { commandsOf, type Commands } from '../support/commands.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';

const BILLS = 20;
const MINUTE = 60_000;

/** Ids of restored orders. */
let orders: Set<string>;
let calls: number;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(event: PaymentSucceededEvent | PaymentFailedEvent, { manager }: PaymentEventContext): Promise<void> {
    calls += 1;
    const { name, orderId, paymentId } = event;
    if (!orders.has(orderId)) throw new PaymentOrderNotFoundError(orderId);
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

let harness: Harness;
let commands: Commands;
let operations: PaymentOperations;

/** Bills that are paid at the service but unknown here, as after a restore. */
async function lostBills(count: number): Promise<BillToImport[]> {
  const bills: BillToImport[] = [];
  await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
  for (let index = 0; index < count; index += 1) {
    const orderId = `order-${index}`;
    const { billId } = await commands.foreignBill(orderId);
    await harness.sandbox.pay(billId);
    bills.push({ orderId, billId, amount: '10.00', createdAt: new Date(Date.now() - MINUTE) });
  }
  return bills;
}

const importAll = (bills: BillToImport[], hold: boolean) =>
  harness.host.app.get(PaymentImport).importBills(bills, { operator: 'ann', hold });
const restoreAll = (bills: BillToImport[]): void => bills.forEach(({ orderId }) => orders.add(orderId));
const health = async () =>
  (await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments', { failingDeliveryMs: 0 })).payments;

async function expectEachPaidOnce(bills: BillToImport[]): Promise<void> {
  const paid = (await harness.effects()).map(({ orderId, event }) => `${orderId} ${event}`).sort();
  expect(paid).toEqual(bills.map(({ orderId }) => `${orderId} payment.succeeded`).sort());
}

describe('bills that come back before their orders', () => {
  beforeEach(async () => {
    [orders, calls] = [new Set(), 0];
    // The fewest attempts that a host may configure.
    harness = await startHarness({
      providers: [Orders],
      options: { deliveries: { maxAttempts: 2, retryCapMs: 2_000 } },
    });
    commands = commandsOf(harness);
    operations = harness.host.app.get(PaymentOperations);
  });
  afterEach(async () => {
    commands.close();
    await harness.close();
  });

  test('held ones settle, but reach no handler until they are released; then each is paid once', async () => {
    const bills = await lostBills(BILLS);
    expect(await importAll(bills, true)).toMatchObject({ imported: BILLS, refused: [] });
    await harness.settle();
    harness.clock.advance(10 * MINUTE);
    await harness.settle();
    expect(calls).toBe(0);
    // Claims do not even read them.
    const met: unknown[] = await harness.host.dataSource.query(
      `SELECT 1 FROM payment_acceptance.delivery WHERE NOT behind`,
    );
    expect(met).toEqual([]);
    const { degraded, backlog } = await health();
    expect(degraded).toEqual(['bills-held']);
    expect(backlog).toMatchObject({
      ...{ heldBills: BILLS, heldDeliveries: BILLS, pendingDeliveries: BILLS },
      ...{ oldestDeliveryMs: null, deadLetters: 0, failingConsumers: [] },
    });
    expect((await operations.forShop('eu').stats()).heldBills).toBe(0);
    // Importing again does not hold what has been released.
    restoreAll(bills);
    expect(await operations.forShop('eu').release({}, 'ann')).toEqual({ bills: 0, retried: 0 });
    const one = await commands.json('release', '--order', 'order-7', '--shop', 'main');
    expect(one.document).toMatchObject({ bills: 1, retried: 0 });
    expect(await importAll(bills, true)).toMatchObject({ imported: 0, present: BILLS });
    await harness.settle();
    await expectEachPaidOnce([bills[7]!]);
    expect(await commands.command('release')).toMatchObject({
      code: 0,
      out: `The events of ${BILLS - 1} held bills are released.\n0 deliveries that found no order will be retried.\n`,
    });
    await harness.settle();
    await expectEachPaidOnce(bills);
    expect(await operations.release({}, 'ann')).toEqual({ bills: 0, retried: 0 });
    await harness.settle();
    expect(calls).toBe(BILLS);
    expect(await operations.stats()).toMatchObject({ heldBills: 0, heldDeliveries: 0, pendingDeliveries: 0 });
  });

  test('later events of a held bill wait in order, even if something else releases queues meanwhile', async () => {
    const { billId } = await commands.foreignBill('order-0');
    await importAll([{ orderId: 'order-0', billId, amount: '10.00', createdAt: new Date() }], true);
    orders.add('order-0');
    await harness.start();
    for (const outcome of ['fail', 'success'] as const) {
      await harness.sandbox.pay(billId, { outcome });
      await harness.settle();
    }
    harness.clock.advance(MINUTE);
    await operations.replay({}, 'ann');
    await harness.settle();
    // An earlier release has retried none, and clears the mark of all.
    await harness.host.dataSource.query(`UPDATE payment_acceptance.delivery SET behind = false`);
    await harness.settle();
    expect([calls, (await operations.stats()).heldDeliveries]).toEqual([0, 2]);
    await operations.release({ orderId: 'order-0' }, 'ann');
    await harness.settle();
    expect((await harness.effects()).map(({ event }) => event)).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test('without --hold, deliveries that find no order are retried for long: no dead letter, and each is paid once', async () => {
    const bills = await lostBills(BILLS);
    await importAll(bills, false);
    await harness.settle();
    expect(calls).toBe(BILLS);
    for (const minutes of [5, 180]) {
      harness.clock.advance(minutes * MINUTE);
      await harness.settle();
    }
    expect(calls).toBe(3 * BILLS);
    const { degraded, backlog } = await health();
    expect(degraded).toContain('deliveries-failing');
    expect(backlog).toMatchObject({
      deadLetters: 0,
      failingConsumers: [{ consumer: 'orders', deliveries: BILLS, ordersNotFound: BILLS, reason: 'order-not-found' }],
    });
    const [delivery] = (await harness.host.ledger()).events[0]!.deliveries;
    expect(delivery!.lastError).toMatch(
      /^PaymentOrderNotFoundError: The handler found nothing for order "order-\d+": /,
    );
    restoreAll(bills);
    await harness.settle();
    await expectEachPaidOnce([]);
    expect(await operations.release({ orderId: 'order-3' }, 'ann')).toEqual({ bills: 0, retried: 1 });
    // Also for the one that has not been retried since.
    expect((await commands.json('release')).document).toMatchObject({ bills: 0, retried: BILLS });
    await harness.settle();
    await expectEachPaidOnce(bills);
  });

  test('an order that never comes back is a dead letter after a day, and can be replayed by order', async () => {
    await importAll(await lostBills(1), false);
    let hours = 0;
    for (; (await operations.stats()).deadLetters === 0 && hours < 60; hours += 1) {
      await harness.settle();
      harness.clock.advance(60 * MINUTE);
    }
    expect(hours).toBeGreaterThanOrEqual(24);
    orders.add('order-0');
    expect(await operations.replay({ consumer: 'orders', orderId: 'order-0' }, 'ann')).toBe(1);
    await harness.settle();
    expect((await harness.effects()).length).toBe(1);
  });
});
