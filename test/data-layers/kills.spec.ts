import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { optionsToJson } from '../support/options-json.mjs';
import { ON_MARIADB } from '../support/database.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { SEED } from '../support/seed.js';
import { until } from '../support/until.js';
import { LAYERS } from './layers.mjs';

const OPTIONS = { deliveries: { concurrency: 1, timeoutMs: 5_000 } };
const PAST_LEASE_MS = 60_000;
const PAYMENTS = 300;
const KILLS = 5;

/** Makes the consumer known, so that settlements create its deliveries. */
@Injectable()
class Known {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async take(): Promise<void> {
    return Promise.reject(new Error('It is never called here.'));
  }
}

/** `KILLED_LAYERS=all npm test -- test/data-layers/kills` takes all of them, which needs five minutes; else the seed chooses one. */
const present = LAYERS.filter(({ absent }) => absent === undefined);
const chosen = process.env.KILLED_LAYERS === 'all' ? present : [present[SEED % present.length]!];
process.stdout.write(
  `Layers left out (seed ${SEED}): ${LAYERS.filter((each) => !chosen.includes(each))
    .map(({ name }) => name)
    .join(', ')}\n`,
);

describe.each(chosen)('processes that are killed, with handlers in transactions of $name', ({ name }) => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ providers: [Known], options: OPTIONS });
  });
  afterAll(() => harness.close());

  function start(more: Record<string, string>, options = OPTIONS): ChildProcess {
    return spawn(process.execPath, ['test/data-layers/killed-host.mjs'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        LAYER: name,
        DATABASE_URL: harness.databaseUrl,
        PAYMENT_OPTIONS: optionsToJson(moduleOptions(harness.sandboxUrl, options)),
        ...more,
      },
    });
  }

  async function run(killAt?: number): Promise<{ signal: unknown; points: string[] }> {
    const child = start(killAt === undefined ? {} : { KILL_AT: String(killAt) });
    const [output, [, signal]] = await Promise.all([text(child.stdout!), once(child, 'exit') as Promise<unknown[]>]);
    return { signal, points: output === '' ? [] : (JSON.parse(output) as string[]) };
  }

  async function paid(orderId: string): Promise<void> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
  }
  async function settle(): Promise<void> {
    await harness.sandbox.settled();
    while ((await harness.host.confirmer.runOnce()) > 0);
  }
  const effectsOf = async (orderId: string): Promise<number> =>
    (await harness.effects()).filter((effect) => effect.orderId === orderId).length;

  /** Until the server has noticed that a killed process is gone, its transaction holds its locks. */
  const isGone = () =>
    until(
      () =>
        harness.host.dataSource.query<unknown[]>(
          ON_MARIADB
            ? `SELECT 1 FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
               WHERE p.DB = DATABASE()`
            : `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'handlers'`,
        ),
      (sessions) => sessions.length === 0,
    );

  /** As if its lease had run out. */
  const expire = () =>
    harness.host.dataSource.query(
      ON_MARIADB
        ? 'UPDATE payment_acceptance_delivery SET lease_until = NOW(6) - INTERVAL 1 SECOND WHERE lease_until IS NOT NULL'
        : `UPDATE payment_acceptance.delivery SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL`,
    );

  test('a process killed in any gap between two steps leaves everything to be done once', async () => {
    await paid('whole');
    await settle();
    const { points } = await run();
    expect(points).toEqual(expect.arrayContaining(['before handler', 'after handler', 'after COMMIT of a handler']));
    expect(await effectsOf('whole')).toBe(1);
    const first = points.indexOf('before handler') - 2;
    const last = points.indexOf('after COMMIT of a handler');
    const problems: string[] = [];
    for (let at = first; at <= last; at += 1) {
      const orderId = `killed-${at}`;
      await paid(orderId);
      await settle();
      const { signal } = await run(at);
      if (signal !== 'SIGKILL') problems.push(`${points[at]}: not killed`);
      await isGone();
      await expire();
      await run();
      const done = await effectsOf(orderId);
      if (done !== 1) problems.push(`${points[at]}: ${done} effects`);
    }
    expect(problems).toEqual([]);
    const states = (await harness.host.ledger()).events.flatMap(({ deliveries }) =>
      deliveries.map(({ state }) => state),
    );
    expect(new Set(states)).toEqual(new Set(['DONE']));
  }, 240_000);

  test(`${PAYMENTS} payments are each done once, with two instances and ${KILLS} kills`, async () => {
    const before = (await harness.effects()).length;
    const running = { deliveries: { concurrency: 4, timeoutMs: 2_000, retryBaseMs: 1 }, pollMs: 50 };
    const instance = async (): Promise<ChildProcess> => {
      const child = start({ RUNS_ON: 'yes' }, running);
      await once(child.stdout!, 'data');
      return child;
    };
    for (let index = 0; index < PAYMENTS; index += 1) await paid(`many-${index}`);
    await settle();
    const children = [await instance(), await instance()];
    const effects = async () => (await harness.effects()).length - before;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await until(effects, (count) => count >= (PAYMENTS / (KILLS + 1)) * kill, 60_000);
      const child = children[kill % 2]!;
      child.kill('SIGKILL');
      await once(child, 'exit');
      await expire();
      children[kill % 2] = await instance();
    }
    await until(effects, (count) => count >= PAYMENTS, 60_000);
    for (const child of children) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await isGone();
    const orders = (await harness.effects()).map(({ orderId }) => orderId).filter((id) => id.startsWith('many-'));
    expect([orders.length, new Set(orders).size]).toEqual([PAYMENTS, PAYMENTS]);
    harness.clock.advance(PAST_LEASE_MS);
    await run();
    expect((await effects()) - PAYMENTS).toBe(0);
  }, 240_000);
});
