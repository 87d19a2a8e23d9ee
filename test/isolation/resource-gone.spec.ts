import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentAcceptanceError } from 'nestjs-payment-acceptance';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { optionsToJson } from '../support/options-json.mjs';
import { ON_MARIADB } from '../support/database.js';
import { WHOLE_FORM } from '../support/forms.js';
import { postbackFields, postJson } from '../support/http.js';
import type { Instance } from '../support/harness.js';
import { until } from '../support/until.js';
import { startWorld, type World } from './support/world.js';

/** After the end of the trouble. */
const CAUGHT_UP_MS = 30_000;
const CALLERS = 12;
/** Codes of the errors that `createBill` may throw then. */
const SAYS_SO = new Set(['statement-timeout', 'pool-exhausted', 'bill-not-stored']);
const POOL = 10;

describe('a shared resource that is gone', () => {
  let world: World;
  beforeEach(async () => {
    world = await startWorld({
      options: { callbacks: { storeTimeoutMs: 900 }, statementTimeoutMs: 1_800, creation: { storeTimeoutMs: 900 } },
    });
    await world.traffic.lags({ orders: 5, everyMs: 25 });
  });
  afterEach(() => world.close());

  /** Sends a postback of each bill at the same time, and returns the statuses. */
  const post = (instance: Instance, billIds: readonly string[]): Promise<number[]> =>
    Promise.all(
      billIds.map(async (billId) => {
        const fields = postbackFields({ InvId: 'sick', OutSum: '10.00', TrsId: billId });
        return (await postJson(`${instance.url}/postback/payment`, fields)).status;
      }),
    );

  /** Creates bills at the same time, and returns the codes of the errors. */
  async function create(instance: Instance, name: string): Promise<string[]> {
    const created = await Promise.allSettled(
      Array.from({ length: CALLERS }, (_, index) =>
        instance.payments.createBill({ orderId: `${name}-${index}`, amount: '10' }),
      ),
    );
    return created.flatMap((outcome) => {
      if (outcome.status === 'fulfilled') return [];
      expect(outcome.reason).toBeInstanceOf(PaymentAcceptanceError);
      return [(outcome.reason as PaymentAcceptanceError).code];
    });
  }

  const bills = (): Promise<string[]> => Promise.all(Array.from({ length: CALLERS }, () => world.bill()));

  /** Pays the bills while their postbacks are dropped. */
  async function payUnheard(billIds: readonly string[]): Promise<void> {
    await world.harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    for (const billId of billIds) await world.harness.sandbox.pay(billId);
    await world.harness.sandbox.settled();
    await world.harness.sandbox.setFaults({});
  }

  /** Everything that was paid is settled and delivered, each at the first attempt. */
  async function caughtUp(): Promise<void> {
    world.pass(CAUGHT_UP_MS);
    await until(
      () => world.unfinished(),
      (unfinished) => unfinished.length === 0,
    );
    // Bills that the service created while the outcome could not be stored.
    await until(
      () => world.outside.query<unknown[]>(`SELECT intent_id FROM payment_acceptance.bill WHERE state = 'CREATING'`),
      (creating) => creating.length === 0,
    );
    const attempts = await world.outside.query<{ attempts: number }[]>(
      'SELECT DISTINCT attempts FROM payment_acceptance.delivery',
    );
    expect(attempts).toEqual([{ attempts: 1 }]);
    expect(await world.outside.query('SELECT id FROM payment_acceptance.review')).toEqual([]);
  }

  const tables = ['bill', ...(WHOLE_FORM ? ['callback', 'shop_order', 'payment', 'event', 'delivery'] : [])];

  test.each(tables)(
    'while the table %s is locked, callers are told in time, and all is caught up afterwards',
    async (table) => {
      const paid = await bills();
      await payUnheard(paid);
      const holder = world.outside.createQueryRunner();
      await holder.startTransaction();
      await holder.query(
        ON_MARIADB
          ? `LOCK TABLES payment_acceptance.${table} WRITE`
          : `LOCK TABLE payment_acceptance.${table} IN ACCESS EXCLUSIVE MODE`,
      );
      for (let round = 0; round < 2; round += 1) {
        const [statuses, refusals] = await Promise.all([
          post(world.host, paid),
          create(world.host, `${table}-${round}`),
        ]);
        expect(refusals.filter((code) => !SAYS_SO.has(code))).toEqual([]);
        for (const status of statuses) expect([200, 503]).toContain(status);
      }
      expect(await world.host.dataSource.query('SELECT 1 AS one')).toHaveLength(1);
      if (ON_MARIADB) await holder.query('UNLOCK TABLES');
      await holder.rollbackTransaction();
      await holder.release();
      await until(
        () => post(world.host, paid),
        (statuses) => statuses.every((status) => status === 200),
      );
      await caughtUp();
      expect(await create(world.host, `${table}-after`)).toEqual([]);
    },
  );

  test("while the host holds an instance's whole pool, only its handlers wait, and another instance runs them", async () => {
    await world.startAnother();
    const paid = await bills();
    await payUnheard(paid);
    const runners = Array.from({ length: POOL }, () => world.host.dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    const [statuses, refusals] = await Promise.all([post(world.host, paid), create(world.host, 'pool')]);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(refusals).toEqual([]);
    // One handler of the instance waits for a connection.
    await until(
      () => world.unfinished(),
      (unfinished) => unfinished.length <= 1,
    );
    for (const runner of runners) await runner.release();
    await caughtUp();
    expect(await create(world.host, 'after')).toEqual([]);
  });

  test("while an instance's event loop is blocked, another one goes on, and late callbacks are stored", async () => {
    const child = spawn(process.execPath, ['test/isolation/support/blocked-host.mjs'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        DATABASE_URL: world.harness.databaseUrl,
        PAYMENT_OPTIONS: optionsToJson(world.options),
      },
    });
    const ended = once(child, 'exit');
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { value: url } = (await lines.next()) as { value: string };
    const toIt = (billId: string): Promise<Response> =>
      postJson(`${url}/postback/payment`, postbackFields({ InvId: 'sick', OutSum: '10.00', TrsId: billId }));
    const paid = await bills();
    await payUnheard(paid);
    const folder = mkdtempSync(join(tmpdir(), 'blocked-'));
    child.stdin.write(`${folder}\n`);
    expect((await lines.next()).value).toBe('blocked');
    let answered = 0;
    const late = paid.map((billId) => toIt(billId).then(({ status }) => ((answered += 1), status)));
    await world.traffic.lags({ orders: 20, everyMs: 25 });
    expect(await create(world.host, 'beside')).toEqual([]);
    expect(answered).toBe(0);
    rmdirSync(folder);
    expect(new Set(await Promise.all(late))).toEqual(new Set([200]));
    await caughtUp();
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });
});

describe('a database that does not answer the module', () => {
  let world: World;
  afterEach(() => world.close());

  test("while the database does not answer the module, the host's pool stays free and callers are told in time", async () => {
    world = await startWorld({ options: { statementTimeoutMs: 2_000 } });
    await Promise.all([world.host.confirmer.stop(), world.host.deliveries.stop()]);
    const holder = world.outside.createQueryRunner();
    await holder.startTransaction();
    await holder.query(
      ON_MARIADB
        ? 'LOCK TABLES payment_acceptance.shop_order WRITE'
        : 'LOCK TABLE payment_acceptance.shop_order IN ACCESS EXCLUSIVE MODE',
    );
    const create = (orderId: string): Promise<string> =>
      world.host.payments.createBill({ orderId, amount: '10' }).then(
        () => 'made',
        (error: unknown) => (error as PaymentAcceptanceError).code,
      );
    const hanging = Array.from({ length: CALLERS }, (_, index) => create(`hangs-${index}`));
    const runners = Array.from({ length: POOL }, () => world.host.dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    for (const runner of runners) await runner.release();
    expect(new Set(await Promise.all(hanging))).toEqual(new Set(['pool-exhausted', 'statement-timeout']));
    if (ON_MARIADB) await holder.query('UNLOCK TABLES');
    await holder.rollbackTransaction();
    await holder.release();
    expect(await create('after')).toBe('made');
  });
});
