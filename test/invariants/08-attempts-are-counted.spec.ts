import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { optionsToJson } from '../support/options-json.mjs';
import { Effect, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';
import type { EntityManager } from 'typeorm';

const LEASE_MS = 60_000;

let harness: Harness;

const pay = async (orderId: string) => {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.pay(billId);
  await harness.sandbox.settled();
  await harness.host.confirmer.runOnce();
};
const delivery = async () => (await harness.host.ledger()).events[0]!.deliveries[0];

/** Runs the deliveries of one process until its handler kills it. @param env with `WORKS`, it also checks bills by itself */
async function crash(env = {}): Promise<NodeJS.Signals | null> {
  const options = moduleOptions(harness.sandboxUrl, { deliveries: { maxAttempts: 2, timeoutMs: 5_000 } });
  const child = spawn(process.execPath, ['test/support/crashing-host.mjs'], {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      NODE_OPTIONS: '',
      PGAPPNAME: 'killed',
      DATABASE_URL: harness.databaseUrl,
      PAYMENT_OPTIONS: optionsToJson(options),
    },
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // Until the server has noticed, the killed process's transaction holds its locks.
  await until(
    () => harness.host.dataSource.query<unknown[]>(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'killed'`),
    (backends) => backends.length === 0,
  );
  return signal;
}

describe('invariant 8: an attempt is counted before it runs', () => {
  afterEach(() => harness.close());

  test('a handler that kills its process with -9 ends as a dead letter, and leaves nothing half done', async () => {
    harness = await startHarness({ providers: [EffectWriter], options: { deliveries: { maxAttempts: 2 } } });
    await pay('killed');
    expect(await crash()).toBe('SIGKILL');
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.delivery SET lease_until = now() - interval '1 second'`,
    );
    expect(await crash()).toBe('SIGKILL');
    harness.clock.advance(LEASE_MS);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DEAD', attempts: 2 });
    expect(await harness.effects()).toEqual([]);
  });

  test('a handler begun right after the settlement is counted, and taken over after a kill -9', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'killed', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    expect(await crash({ WORKS: '1' })).toBe('SIGKILL');
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect(await harness.host.deliveries.runOnce()).toBe(0);
    harness.clock.advance(LEASE_MS);
    expect(await harness.host.deliveries.runOnce()).toBe(1);
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await harness.effects()).toHaveLength(1);
  });

  test('the delivery of a killed instance is taken over after its lease, with one effect', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    await pay('taken-over');
    expect(await crash()).toBe('SIGKILL');
    await harness.settle();
    expect(await harness.effects()).toEqual([]);
    harness.clock.advance(LEASE_MS);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await harness.effects()).toMatchObject([{ orderId: 'taken-over' }]);
  });

  test('nothing commits of a handler that outlives its time limit inside a query, and its retry has one effect', async () => {
    const seen: string[] = [];
    @Injectable()
    class Slow {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(
        event: PaymentSucceededEvent,
        { manager, signal, attempt }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        const { name, paymentId, orderId } = event;
        await manager.insert(Effect, { consumer: `attempt ${attempt}`, event: name, paymentId, orderId });
        if (attempt > 1) return;
        // Its attempt is over, but the handler continues: it swallows errors and writes more through the same manager.
        await manager.query('SELECT pg_sleep(60)').catch((error: unknown) => seen.push(String(error)));
        seen.push(`aborted: ${signal.aborted}`);
        await manager
          .insert(Effect, { consumer: 'after the limit', event: name, paymentId, orderId })
          .catch((error: unknown) => seen.push(String(error)));
        await manager.query('COMMIT').catch((error: unknown) => seen.push(String(error)));
      }
    }
    harness = await startHarness({ providers: [Slow], options: { deliveries: { timeoutMs: 400 } } });
    await pay('slow');
    expect(await harness.host.deliveries.runOnce()).toBe(1);
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect((await delivery())!.lastError).toContain('did not end within 400 ms');
    expect(await harness.effects()).toEqual([]);
    harness.clock.advance(1_000);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect((await harness.effects()).map(({ consumer }) => consumer)).toEqual(['attempt 2']);
    expect(seen.length).toBe(4);
    expect(seen[1]).toBe('aborted: true');
    const running: unknown[] = await harness.host.dataSource.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%'`,
    );
    expect(running).toEqual([]);
  });

  describe('an attempt that holds no lock, as of a listener', () => {
    const calls: (() => Promise<void>)[] = [];
    @Injectable()
    class Listener {
      @OnEvent('payment.succeeded', { promisify: true })
      hear(): Promise<void> {
        return calls.shift()!();
      }
    }
    const start = async (orderId: string, maxAttempts = 8) => {
      harness = await startHarness({ providers: [Listener], instances: 2, options: { deliveries: { maxAttempts } } });
      await pay(orderId);
    };

    test.each([1, 8])(
      'a delivery without a lock is not taken by another instance while it runs, attempt 1 of %d',
      async (maxAttempts) => {
        let letGo = (): void => undefined;
        calls.push(() => new Promise<void>((resolve) => (letGo = resolve)));
        await start('running', maxAttempts);
        const running = harness.host.deliveries.runOnce();
        await until(
          () => delivery(),
          (now) => calls.length === 0 && now?.attempts === 1,
        );
        // From then on dead letters are looked for, too.
        harness.clock.advance(30_000);
        expect(await harness.instances[1]!.deliveries.runOnce()).toBe(0);
        expect(await delivery()).toMatchObject({ state: 'PENDING' });
        letGo();
        await running;
        expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
      },
    );

    const claimTwice = async () => {
      await start('late');
      const claims = [];
      for (const { deliveries } of harness.instances) {
        claims.push((await deliveries.claim(1)).items[0]!);
        harness.clock.advance(LEASE_MS);
      }
      return claims;
    };

    test('an attempt without a lock that succeeds late leaves its delivery to its successor', async () => {
      const claims = await claimTwice();
      calls.push(
        () => Promise.resolve(),
        () => Promise.resolve(),
      );
      const states: unknown[] = [];
      for (const [index, claim] of claims.entries()) {
        await harness.instances[index]!.deliveries.process(claim, new AbortController().signal);
        states.push((await delivery())!.state);
      }
      expect(states).toEqual(['PENDING', 'DONE']);
    });

    test('an attempt without a lock that fails late takes no lease from its successor', async () => {
      const claims = await claimTwice();
      calls.push(
        () => Promise.reject(new Error('too late')),
        () => Promise.resolve(),
      );
      for (const [index, claim] of claims.entries()) {
        await harness.instances[index]!.deliveries.process(claim, new AbortController().signal);
      }
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    });
  });

  test('an attempt that is taken over before it begins does nothing', async () => {
    harness = await startHarness({ providers: [EffectWriter], instances: 2 });
    await pay('given-away');
    const {
      items: [late],
    } = await harness.host.deliveries.claim(1);
    harness.clock.advance(LEASE_MS);
    const {
      items: [current],
    } = await harness.instances[1]!.deliveries.claim(1);
    await harness.host.deliveries.process(late!, new AbortController().signal);
    expect(await harness.effects()).toEqual([]);
    await harness.instances[1]!.deliveries.process(current!, new AbortController().signal);
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await harness.effects()).toHaveLength(1);
  });

  test('a handler that never ends and uses no connection is given up at its time limit', async () => {
    let calls = 0;
    @Injectable()
    class Stuck {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(_event: PaymentSucceededEvent, { signal }: PaymentEventContext<EntityManager>): Promise<void> {
        calls += 1;
        if (calls === 1) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }
    }
    harness = await startHarness({ providers: [Stuck], options: { deliveries: { timeoutMs: 200 } } });
    await pay('stuck');
    await harness.host.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    harness.clock.advance(1_000);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
  });
});
