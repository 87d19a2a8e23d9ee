import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentImport, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { commandsOf } from '../support/commands.js';
import { ON_MARIADB } from '../support/database.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import type { EntityManager } from 'typeorm';

/** Stores the key of each delivery as documents say, and takes one that it knows for a copy. */
@Injectable()
class Mails {
  readonly sent: string[] = [];
  readonly keys: string[] = [];
  fails = false;

  @OnPaymentSucceeded({ consumer: 'mails' })
  @OnPaymentFailed({ consumer: 'mails' })
  async send(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    context: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { manager, deliveryId } = context;
    this.keys.push(deliveryId);
    if (this.fails) throw new Error('the mail server is down');
    if (await manager.existsBy(Effect, { consumer: deliveryId })) return;
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: deliveryId, event: name, paymentId, orderId });
    this.sent.push(orderId);
  }
}

describe('the id of a delivery', () => {
  let harness: Harness;
  let mails: Mails;
  beforeEach(async () => {
    mails = new Mails();
    harness = await startHarness({
      providers: [{ provide: Mails, useValue: mails }],
      options: { deliveries: { maxAttempts: 1 } },
    });
  });
  afterEach(() => harness.close());

  async function pay(orderId: string): Promise<string> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10.00' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    return billId;
  }

  type Rows = Record<string, unknown>[];
  const read = (table: string): Promise<Rows> =>
    harness.host.dataSource.query(`SELECT * FROM payment_acceptance.${table}`);

  /** What a dump has of orders and bills. */
  const dump = async () => ({ shop_order: await read('shop_order'), bill: await read('bill') });

  /** From a dump that was taken when there was no payment: rows and numbers are those of then. */
  async function restore(dumped: Record<string, Rows> = {}): Promise<void> {
    const { dataSource } = harness.host;
    for (const table of [
      'operator_action',
      'delivery',
      'event',
      'review',
      'payment',
      'callback',
      'bill',
      'shop_order',
    ]) {
      const name = `payment_acceptance.${table}`;
      if (!ON_MARIADB) await dataSource.query(`TRUNCATE ${name} RESTART IDENTITY CASCADE`);
      else {
        await dataSource.query(`DELETE FROM ${name}`);
        await dataSource.query(`ALTER TABLE ${name} AUTO_INCREMENT = 1`);
      }
    }
    for (const [table, rows] of Object.entries(dumped)) {
      for (const row of rows) {
        // MariaDB computes these from the others.
        const columns = Object.keys(row).filter((name) => !['creating_until', 'unredacted_at'].includes(name));
        await dataSource.query(
          `INSERT INTO payment_acceptance.${table} (${columns.join(', ')})
           VALUES (${columns.map((_name, index) => `$${index + 1}`).join(', ')})`,
          columns.map((name) => row[name]),
        );
      }
    }
  }

  test("the id of a delivery is never another payment's after a restore, and the same after an import", async () => {
    const first = await pay('X');
    await restore();
    await pay('Y');
    const bill = { orderId: 'X', billId: first, amount: '10.00', createdAt: harness.clock.now().toISOString() };
    await harness.host.app.get(PaymentImport).importBills([bill], { operator: 'ann' });
    await harness.settle();
    const [x, y, again] = mails.keys;
    expect(mails.keys).toHaveLength(3);
    expect([again, x === y]).toEqual([x, false]);
    expect(mails.sent).toEqual(['X', 'Y']);
  });

  test('the id of a delivery is the same after a restored database is recovered and imported', async () => {
    const commands = commandsOf(harness);
    try {
      const known = await harness.host.payments.createBill({ orderId: 'known', amount: '10.00' });
      const dumped = await dump();
      await harness.sandbox.pay(known.billId);
      await harness.settle();
      const since = harness.clock.now().toISOString();
      const unknown = await pay('unknown');
      await restore(dumped);
      await pay('new');
      expect(mails.sent).toEqual(['known', 'unknown', 'new']);

      expect(await commands.json('recover', '--since', since)).toMatchObject({ code: 0 });
      await harness.settle();
      const bill = { orderId: 'unknown', billId: unknown, amount: '10.00', createdAt: since };
      await harness.host.app.get(PaymentImport).importBills([bill], { operator: 'ann' });
      await harness.settle();
      const [first, second, third, ...again] = mails.keys;
      expect(new Set([first, second, third]).size).toBe(3);
      expect(again).toEqual([first, second]);
      expect(mails.sent).toEqual(['known', 'unknown', 'new']);
      expect((await harness.host.ledger()).bills.map(({ orderId, state }) => [orderId, state]).sort()).toEqual([
        ['known', 'PAID'],
        ['new', 'PAID'],
        ['unknown', 'PAID'],
      ]);
    } finally {
      commands.close();
    }
  });

  test('the id of a delivery stays over attempts and replays, and identifies a dead letter', async () => {
    mails.fails = true;
    await pay('lost');
    const operations = harness.host.app.get(PaymentOperations);
    const [letter] = await operations.deadLetters();
    const [key] = mails.keys;
    expect(letter!.deliveryId).toBe(key);
    expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    await expect(operations.replay({ deliveryId: '1' }, { operator: 'ann' })).rejects.toThrow(
      /is a row number.* a UUID/,
    );
    expect(
      await operations.countReplayable({ deliveryId: key!.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }),
    ).toBe(0);
    mails.fails = false;
    expect(await operations.replay({ deliveryId: key! }, { operator: 'ann' })).toBe(1);
    await harness.settle();
    expect(mails.keys).toEqual([key, key]);
    expect(mails.sent).toEqual(['lost']);
  });
});
