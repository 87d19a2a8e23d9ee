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
import type { EntityManager } from 'typeorm';

const BILLS = 20;
const MINUTE = 60_000;

/** Ids of restored orders. */
let orders: Set<string>;
let calls: number;
let broken: boolean;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    calls += 1;
    const { name, orderId, paymentId } = event;
    if (broken && orderId === 'order-1') throw new Error('broken');
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

const importAll = (bills: BillToImport[]) =>
  harness.host.app.get(PaymentImport).importBills(bills, { operator: 'ann' });
const restoreAll = (bills: BillToImport[]): void => bills.forEach(({ orderId }) => orders.add(orderId));
const health = async () =>
  (await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments', { failingDeliveryMs: 0 })).payments;

async function expectEachPaidOnce(bills: BillToImport[]): Promise<void> {
  const paid = (await harness.effects()).map(({ orderId, event }) => `${orderId} ${event}`).sort();
  expect(paid).toEqual(bills.map(({ orderId }) => `${orderId} payment.succeeded`).sort());
}

describe('bills restored before their orders', () => {
  beforeEach(async () => {
    [orders, calls, broken] = [new Set(), 0, false];
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

  test('deliveries that find no order are retried for hours, and each order is then paid once', async () => {
    const bills = await lostBills(BILLS);
    await importAll(bills);
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
    expect(await operations.forShop('eu').replay({}, { operator: 'ann' })).toBe(0);
    expect(await operations.countReplayable({ orderId: 'order-3' })).toBe(1);
    expect(await operations.replay({ orderId: 'order-3' }, { operator: 'ann' })).toBe(1);
    // Also the one that has not been tried since.
    expect((await commands.json('replay', '--all')).document).toEqual({ dryRun: false, replayed: BILLS });
    await harness.settle();
    await expectEachPaidOnce(bills);
  });

  test('a delivery that waits for its order outlives a killed process and another error', async () => {
    const bills = await lostBills(2);
    await importAll(bills);
    const later = async (): Promise<void> => {
      harness.clock.advance(180 * MINUTE);
      await harness.settle();
    };
    for (let attempt = 0; attempt < 3; attempt += 1) await later();
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.delivery SET attempts = attempts + 1, lease_until = due_at,
       lease_token = '00000000-0000-4000-8000-000000000001'`,
    );
    await later();
    broken = true;
    await later();
    expect(await health()).toMatchObject({ backlog: { deadLetters: 0 } });
    broken = false;
    restoreAll(bills);
    await later();
    await expectEachPaidOnce(bills);
  });

  test('a replay gives deliveries that wait for their order all attempts, in order, and leaves other failures', async () => {
    const { billId } = await commands.foreignBill('order-0');
    await importAll([{ orderId: 'order-0', billId, amount: '10.00', createdAt: new Date() }]);
    for (const outcome of ['fail', 'success'] as const) {
      await harness.sandbox.pay(billId, { outcome });
      harness.clock.advance(MINUTE);
      await harness.settle();
    }
    broken = true;
    await lostBills(2).then(([, other]) => importAll([other!]));
    await harness.settle();
    const failing = () =>
      harness.host.dataSource.query<object[]>(
        `SELECT d.due_at, d.attempts FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.intent_id = d.intent_id
       WHERE b.order_id = 'order-1'`,
      );
    const before = await failing();
    orders.add('order-0');
    expect(await operations.replay({}, { operator: 'ann' })).toBe(1);
    expect(await failing()).toEqual(before);
    await harness.settle();
    expect((await harness.effects()).map(({ event }) => event)).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test('a delivery whose order never comes back is a dead letter after a day, and can be replayed by order', async () => {
    await importAll(await lostBills(1));
    let hours = 0;
    for (; (await operations.stats()).deadLetters === 0 && hours < 60; hours += 1) {
      await harness.settle();
      harness.clock.advance(60 * MINUTE);
    }
    expect(hours).toBeGreaterThanOrEqual(24);
    orders.add('order-0');
    expect(await operations.replay({ consumer: 'orders', orderId: 'order-0' }, { operator: 'ann' })).toBe(1);
    await harness.settle();
    expect((await harness.effects()).length).toBe(1);
  });
});
