import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { PaymentActionInterruptedError, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { startHarness, type Harness } from '../support/harness.js';
import { addEvents, MADE } from '../support/many-events.js';
import { pay } from '../support/pay.js';

/** Sixty-two pieces and a half. */
const COUNT = 1_250;

const delivered: string[] = [];

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take({ paymentId }: PaymentSucceededEvent): void {
    delivered.push(paymentId);
  }
}

describe('an action on many deliveries of one bill', () => {
  let harness: Harness;
  let operations: PaymentOperations;
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders] });
    operations = harness.host.app.get(PaymentOperations);
    await pay(harness, 'order-1');
    await harness.settle();
    await addEvents(harness, 'order-1', COUNT);
  });
  afterAll(() => harness.close());
  beforeEach(() => {
    delivered.length = 0;
  });

  const query = <Row>(statement: string): Promise<Row[]> => harness.host.dataSource.query(statement);

  async function count(where: string): Promise<number> {
    const [row] = await query<{ n: string }>(`SELECT count(*) AS n FROM payment_acceptance.delivery WHERE ${where}`);
    return Number(row!.n);
  }

  /** Ends the transaction of the second piece before its commit. */
  async function interrupted(act: () => Promise<number>): Promise<unknown> {
    const probe = harness.host.app.get(PaymentProbe);
    probe.reached = (point) => {
      if (/^after UPDATE payment_acceptance[._]operator_action/.test(point)) throw new Error('the server is gone');
    };
    return act()
      .catch((error: unknown) => error)
      .finally(() => (probe.reached = () => undefined));
  }

  /** Whether the first are delivered in the order of their events, each once. */
  async function expectOrder(): Promise<void> {
    while (delivered.length < 20) await harness.host.deliveries.runOnce();
    expect(delivered).toEqual(Array.from({ length: delivered.length }, (_, index) => `p-${index + 1}`));
  }

  const recorded = async (): Promise<object[]> => {
    const rows = await query<{ action: string; detail: string | object }>(
      'SELECT action, detail FROM payment_acceptance.operator_action ORDER BY at, id',
    );
    return rows.map(({ action, detail }) => ({
      action,
      ...(typeof detail === 'string' ? (JSON.parse(detail) as object) : detail),
    }));
  };

  test('past events that a failed call left undone are delivered by the next call, in order', async () => {
    const deliver = () => operations.deliverPastEvents({ consumer: 'orders' }, { operator: 'ann' });
    expect(await operations.countPastEvents({ consumer: 'orders' })).toBe(COUNT);
    const error = await interrupted(deliver);
    expect(error).toBeInstanceOf(PaymentActionInterruptedError);
    expect(error).toMatchObject({ done: 20, message: expect.stringContaining('Repeat it') as unknown });
    expect(await count(`state = 'PENDING'`)).toBe(20);
    expect(await count(`state = 'PENDING' AND NOT behind`)).toBe(1);
    expect(await deliver()).toBe(COUNT - 20);
    expect(await deliver()).toBe(0);
    const [first, second, third] = await recorded();
    expect([first, second, third]).toMatchObject(
      [20, COUNT - 20, 0].map((done) => ({ action: 'deliver-past-events', count: done })),
    );
    await expectOrder();
  });

  test('dead letters that a failed call left undone are replayed by the next call, in order', async () => {
    await query(`UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = due_at, behind = TRUE WHERE event_id IN
      (SELECT id FROM payment_acceptance.event WHERE ${MADE})`);
    expect(await operations.countReplayable({})).toBe(COUNT);
    const replay = () => operations.replay({}, { operator: 'ann' });
    expect(await interrupted(replay)).toMatchObject({ done: 20 });
    expect([await count(`state = 'PENDING'`), await count(`state = 'DEAD'`)]).toEqual([20, COUNT - 20]);
    expect(await count(`state = 'PENDING' AND NOT behind`)).toBe(1);
    expect(await replay()).toBe(COUNT - 20);
    await expectOrder();
  });
});
