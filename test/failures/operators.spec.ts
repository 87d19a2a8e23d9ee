import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import {
  PaymentNonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentUnknownOutcomeError,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperatorActionError, PaymentOperations, PaymentRecords } from 'nestjs-payment-acceptance/operations';
import { onPostgres } from '../support/database.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import type { EntityManager } from 'typeorm';

const seen: (PaymentSucceededEvent | PaymentFailedEvent)[] = [];
let healthy = true;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    if (!healthy && event.name === 'payment.failed') throw new PaymentNonRetryableError('this order is unknown here');
    seen.push(event);
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

let harness: Harness;
let operations: PaymentOperations;

describe('operators', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders], options: { http: { attempts: 1 } } });
    operations = harness.host.app.get(PaymentOperations);
  });
  afterAll(() => harness.close());

  const billOf = async (orderId: string) =>
    (await harness.host.ledger()).bills.find((bill) => bill.orderId === orderId)!;
  const eventsOf = (orderId: string) => seen.filter((event) => event.orderId === orderId);
  const actions = async (): Promise<{ operator: string; action: string; target: string }[]> =>
    harness.host.dataSource.query(
      'SELECT operator, action, target FROM payment_acceptance.operator_action ORDER BY at',
    );

  /** A creation whose answer is lost: the service has the bill, but we do not know. */
  async function unknown(orderId: string): Promise<{ intentId: string; billId: string }> {
    await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    const error = await harness.host.payments.createBill({ orderId, amount: '10' }).catch((e: unknown) => e);
    await harness.sandbox.clearFaults();
    expect(error).toBeInstanceOf(PaymentUnknownOutcomeError);
    const { intentId } = error as PaymentUnknownOutcomeError;
    return { intentId, billId: harness.sandbox.bills().find((bill) => bill.orderId === orderId)!.id };
  }

  describe('unknown outcomes', () => {
    test('an unknown outcome is listed, attached by an operator, and checked at once with its waiting postbacks', async () => {
      const { intentId, billId } = await unknown('attached');
      await harness.sandbox.pay(billId);
      await harness.settle();
      const { rows } = await harness.host.app.get(PaymentRecords).bills({ states: ['UNKNOWN'] });
      expect(rows).toMatchObject([{ intentId, orderId: 'attached' }]);
      await operations.attachBill(intentId, billId, { operator: 'ann' });
      await harness.settle();
      expect(await billOf('attached')).toMatchObject({ state: 'PAID', billId });
      expect(eventsOf('attached')).toMatchObject([{ name: 'payment.succeeded' }]);
      expect((await harness.host.ledger()).callbacks[0]).toMatchObject({ billId, pending: false });
      expect(await actions()).toContainEqual({ operator: 'ann', action: 'attach-bill', target: intentId });
    });

    test('an unknown outcome can be attached to a bill that the service refuses to list for too many payments', async () => {
      const { intentId, billId } = await unknown('often-tried');
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      await operations.attachBill(intentId, billId, { operator: 'ann' });
      await harness.sandbox.clearFaults();
      expect(await billOf('often-tried')).toMatchObject({ state: 'OPEN', billId });
    });

    test('an unknown outcome is not attached to a bill that the service does not show, or of another order', async () => {
      const { intentId } = await unknown('strict');
      await expect(operations.attachBill(intentId, 'no-such-bill', { operator: 'ann' })).rejects.toMatchObject({
        code: 'bill-not-found',
      });
      const { billId } = await billOf('attached');
      await expect(operations.attachBill(intentId, billId!, { operator: 'ann' })).rejects.toBeInstanceOf(
        PaymentOperatorActionError,
      );
      expect(await billOf('strict')).toMatchObject({ state: 'UNKNOWN' });
    });

    onPostgres(test)(
      'an unknown outcome is attached, with a warning, if its waiting postbacks cannot be linked yet',
      async () => {
        const { intentId, billId } = await unknown('unlinkable');
        await harness.sandbox.pay(billId);
        await harness.sandbox.settled();
        const query = (sql: string) => harness.host.dataSource.query<unknown>(sql);
        await query(`CREATE FUNCTION no_link() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`);
        await query(`CREATE TRIGGER no_link BEFORE UPDATE ON payment_acceptance.callback FOR EACH ROW
      WHEN (OLD.intent_id IS NULL AND NEW.intent_id IS NOT NULL) EXECUTE FUNCTION no_link()`);
        const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
        await operations.attachBill(intentId, billId, { operator: 'ann' });
        expect(warned.mock.calls.map(([line]) => String(line))).toEqual([
          expect.stringMatching(/was known are not linked to it yet\. .*not now/),
        ]);
        warned.mockRestore();
        await query('DROP FUNCTION no_link() CASCADE');
        await harness.settle();
        expect(await billOf('unlinkable')).toMatchObject({ state: 'PAID', billId });
      },
    );

    test('attaching a bill normalises the address of its payment page, and refuses invalid addresses and ids', async () => {
      const { intentId, billId } = await unknown('paged');
      const attach = (page: string, id = billId) =>
        operations.attachBill(intentId, id, { operator: 'ann\0', linkPageUrl: page, note: 'note\0\ud800' });
      for (const page of ['javascript:alert(1)', 'httpsx://pay.example', 'nowhere', '//pay.example', '']) {
        await expect(attach(page)).rejects.toThrow('must be http or https');
      }
      for (const id of ['', 'a b', '\ud800', 'x'.repeat(129)]) {
        await expect(attach('https://pay.example', id)).rejects.toBeInstanceOf(PaymentOperatorActionError);
      }
      expect(await billOf('paged')).toMatchObject({ state: 'UNKNOWN' });
      await attach(' HTTPS://Pay.Example/a b\r\n"><i>');
      const { linkPageUrl } = await harness.host.payments.createBill({ orderId: 'paged', amount: '10' });
      expect(linkPageUrl).toBe('https://pay.example/a%20b%22%3E%3Ci%3E');
    });

    test('an unknown outcome is voided once, by a named operator, and its order then gets a new attempt', async () => {
      const { intentId } = await unknown('voided');
      await operations.voidBill(intentId, { operator: 'ben', note: 'the service shows no such bill' });
      await expect(operations.voidBill(intentId, { operator: 'ben' })).rejects.toBeInstanceOf(
        PaymentOperatorActionError,
      );
      await expect(operations.voidBill("'; --", { operator: 'ben' })).rejects.toBeInstanceOf(
        PaymentOperatorActionError,
      );
      expect(await billOf('voided')).toMatchObject({ state: 'VOIDED' });
      expect(await actions()).toContainEqual({ operator: 'ben', action: 'void-bill', target: intentId });
      expect((await harness.host.payments.createBill({ orderId: 'voided', amount: '10' })).attempt).toBe(2);
    });
  });

  describe('dead letters', () => {
    test('a non-retryable error makes a dead letter at once, and its replay says that it is late', async () => {
      healthy = false;
      const { billId } = await harness.host.payments.createBill({ orderId: 'replayed', amount: '10' });
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      healthy = true;
      const [letter, ...others] = await operations.deadLetters({ orderId: 'replayed' });
      expect(others).toEqual([]);
      expect(letter).toMatchObject({
        event: 'payment.failed',
        attempts: 1,
        lastError: expect.stringContaining('unknown here'),
      });
      expect(await operations.stats()).toMatchObject({ deadLetters: 1 });
      expect(await operations.replay({ deliveryId: letter!.deliveryId }, { operator: 'ann' })).toBe(1);
      await harness.settle();
      expect(eventsOf('replayed')).toMatchObject([
        { name: 'payment.succeeded' },
        { name: 'payment.failed', late: true, billState: 'PAID' },
      ]);
      expect(eventsOf('replayed')[0]).not.toHaveProperty('late', true);
      expect(await operations.stats()).toMatchObject({ deadLetters: 0 });
    });

    test('dead letters are replayed by filter or all together, and others stay', async () => {
      healthy = false;
      for (const orderId of ['r-1', 'r-2', 'r-3']) {
        const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
        await harness.sandbox.pay(billId, { outcome: 'fail' });
      }
      await harness.settle();
      healthy = true;
      expect(await operations.replay({ orderId: 'r-2' }, { operator: 'ann' })).toBe(1);
      expect(await operations.replay({ consumer: 'somebody-else' }, { operator: 'ann' })).toBe(0);
      expect(await operations.replay({ deliveryId: 'x' }, { operator: 'ann' })).toBe(0);
      expect(await operations.replay({}, { operator: 'ann' })).toBe(2);
      await harness.settle();
      expect(['r-1', 'r-2', 'r-3'].map((orderId) => eventsOf(orderId).length)).toEqual([1, 1, 1]);
      expect((await actions()).filter(({ action }) => action === 'replay').length).toBe(4);
    });
  });
});
