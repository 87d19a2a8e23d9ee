import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { takeAll } from '../support/beside.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { postForm, postJson, postbackFields, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { onPostgres } from '../support/database.js';
import { until } from '../support/until.js';
import type { EntityManager } from 'typeorm';

let harness: Harness;

const leased = async (): Promise<number> => {
  const rows: { leased: number }[] = await harness.host.dataSource.query(
    `SELECT (SELECT count(*) FROM payment_acceptance.bill WHERE lease_token IS NOT NULL)::int
       + (SELECT count(*) FROM payment_acceptance.delivery WHERE lease_token IS NOT NULL)::int AS leased`,
  );
  return rows[0]!.leased;
};

describe('workers of an application', () => {
  afterEach(() => harness.close());

  test('workers start with the application and are woken by callbacks, and the result page waits for them', async () => {
    harness = await startHarness({
      providers: [EffectWriter],
      options: {
        autoStart: true,
        pollMs: 60_000,
        callbacks: { resultWaitMs: 5_000 },
      },
    });
    const { billId } = await harness.host.payments.createBill({ orderId: 'awake', amount: '10' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { redirect } = await harness.sandbox.pay(billId);
    const answer = await postForm(redirect!.url, redirect!.fields);
    const page = await fetch(new URL(answer.headers.get('location')!, redirect!.url));
    expect(await page.text()).toContain('Payment received');
    await until(
      () => harness.effects(),
      (effects) => effects.length === 1,
    );
  });

  test('stopping an application releases the bill whose request is in flight', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const leaving = await harness.start({ options: { autoStart: true } });
    const hold = harness.sandbox.holdAnswers('payments');
    const { billId } = await harness.host.payments.createBill({ orderId: 'in-flight', amount: '10' });
    await postJson(
      `${leaving.url}/postback/payment`,
      postbackFields({ InvId: 'in-flight', OutSum: '10.00', TrsId: billId }),
    );
    await hold.reached();
    expect(await leased()).toBe(1);
    await leaving.app.close();
    expect(await leased()).toBe(0);
    hold.release();
    expect((await harness.host.ledger()).callbacks).toMatchObject([{ pending: true }]);
  });

  test('stopping cuts off a handler that runs on: nothing of it commits, and another instance takes over', async () => {
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    @Injectable()
    class Endless {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(
        { name, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        await manager.insert(Effect, { consumer: 'endless', event: name, paymentId, orderId });
        begun();
        await manager.query('SELECT pg_sleep(600)');
      }
    }
    harness = await startHarness({ providers: [EffectWriter] });
    const leaving = await harness.start({
      providers: [Endless],
      options: { autoStart: true, shutdownTimeoutMs: 200, deliveries: { timeoutMs: 600_000 } },
    });
    const { billId } = await harness.host.payments.createBill({ orderId: 'cut-off', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    leaving.deliveries.wake();
    await running;
    await leaving.app.close();
    expect(await leased()).toBe(0);
    harness.clock.advance(1_000);
    await harness.settle();
    expect((await harness.effects()).map(({ consumer }) => consumer)).toEqual(['orders']);
  });

  test('an application that stops delivers no event to listeners that are already removed', async () => {
    const heard: string[] = [];
    @Injectable()
    class Listener {
      @OnEvent('payment.succeeded')
      hear({ orderId }: PaymentSucceededEvent): void {
        heard.push(orderId);
      }
    }
    harness = await startHarness({ providers: [Listener] });
    const leaving = await harness.start();
    const { billId } = await harness.host.payments.createBill({ orderId: 'heard', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    await leaving.app.close();
    expect((await harness.host.ledger()).events[0]!.deliveries).toMatchObject([{ state: 'PENDING' }]);
    await harness.settle();
    expect(heard).toEqual(['heard']);
  });

  onPostgres(test)(
    'callbacks during a restart of the database get 503 or are stored, and all settles afterwards',
    async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'cut', amount: '10' });
      await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
      await harness.sandbox.pay(billId);
      const cut = () =>
        harness.host.dataSource
          .query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
          )
          .catch(() => undefined);
      const fields = postbackFields({ InvId: 'cut', OutSum: '10.00', TrsId: billId });
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, copy) => {
          if (copy % 15 === 7) await cut();
          return (await postJson(`${harness.host.url}/postback/payment`, fields)).status;
        }),
      );
      expect(answers.every((status) => status === 200 || status === 503)).toBe(true);
      const stored = await harness.host.ledger();
      expect(stored.callbacks.length).toBeGreaterThanOrEqual(answers.filter((status) => status === 200).length);
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ orderId: 'cut' }]);
    },
  );

  test('a postback is answered 503 within its time if no connection is free', async () => {
    harness = await startHarness({ options: { callbacks: { storeTimeoutMs: 200 } } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'full', amount: '10' });
    const giveBack = await takeAll(harness.host.app);
    const fields = postbackFields({ InvId: 'full', OutSum: '10.00', TrsId: billId });
    expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(503);
    const redirect = redirectFields({ InvId: 'full', OutSum: '10.00' });
    const returning = postForm(`${harness.host.url}/redirect/payment/success`, redirect);
    giveBack();
    expect([303, 503]).toContain((await returning).status);
    expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(200);
  });
});
