import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("steps of the machine's clock", () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
  });
  afterEach(() => harness.close());

  /** Sells, and resolves with the state of the bill once a minute has passed. */
  async function sell(orderId: string): Promise<string> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    for (let seconds = 0; seconds < 60; seconds += 10) {
      harness.clock.advance(10_000);
      await harness.settle();
    }
    return (await harness.host.ledger()).bills.find((bill) => bill.orderId === orderId)!.state;
  }

  test.each([
    ['an hour back', -HOUR],
    ['an hour forward', HOUR],
    ['thirty days back', -30 * DAY],
    ['thirty days forward', 30 * DAY],
  ])('after a clock step of %s during an outage, sales settle within a minute', async (_name, stepMs) => {
    expect(await sell('before')).toBe('PAID');
    await harness.sandbox.setFaults({ requests: { status500: { p: 1, operation: 'payments' } } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'under way', amount: '10' });
    await harness.sandbox.pay(billId);
    for (let seconds = 0; seconds < 30; seconds += 5) {
      harness.clock.advance(5_000);
      await harness.settle();
    }
    harness.clock.step(stepMs);
    await harness.sandbox.clearFaults();
    expect(await sell('after')).toBe('PAID');
    const states = (await harness.host.ledger()).bills.map(({ orderId, state }) => `${orderId}: ${state}`);
    expect(states.sort()).toEqual(['after: PAID', 'before: PAID', 'under way: PAID']);
    expect((await harness.effects()).map(({ orderId }) => orderId).sort()).toEqual(['after', 'before', 'under way']);
  });

  test("after a step back of the database's clock, the documented statements make due what was put off", async () => {
    const { dataSource, payments } = harness.host;
    const checked = await payments.createBill({ orderId: 'checked', amount: '10' });
    harness.clock.advance(60_000);
    await harness.settle();
    // As if it had been written before a step back of an hour.
    const later = (column: string) => (ON_MARIADB ? `${column} + INTERVAL 1 HOUR` : `${column} + interval '1 hour'`);
    const put = (table: string, ...columns: string[]) =>
      dataSource.query(
        `UPDATE payment_acceptance.${table} SET ${columns.map((column) => `${column} = ${later(column)}`).join(', ')}`,
      );
    await harness.sandbox.pay(checked.billId);
    await put('bill', 'check_after', 'next_check_at');
    await put('callback', 'received_at', 'due_at');
    await put('delivery', 'due_at');
    harness.clock.advance(60_000);
    await harness.settle();
    expect(await harness.effects()).toEqual([]);
    const block = codeBlocks(readFileSync('docs/failover.md', 'utf8')).find(({ text }) =>
      text.includes('check_after'),
    )!;
    const now = ON_MARIADB
      ? `(utc_timestamp(6) + INTERVAL ${harness.clock.offsetMs} * 1000 MICROSECOND)`
      : `(now() + interval '${harness.clock.offsetMs} milliseconds')`;
    for (const statement of block.text.trim().split('\n')) await dataSource.query(statement.replaceAll('now()', now));
    await harness.settle();
    expect((await harness.effects()).map(({ orderId }) => orderId)).toEqual(['checked']);
  });
});
