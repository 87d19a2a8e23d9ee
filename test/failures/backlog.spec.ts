import { afterEach, describe, expect, test } from '@jest/globals';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { pay } from '../support/pay.js';
import { EffectWriter } from '../support/orders.js';
import { scans, type PlanNode } from '../support/plans.js';

let harness: Harness;

describe('database reads with a large backlog', () => {
  afterEach(() => harness.close());

  /** Bills, each with a postback, a delivered event, and a pending one unless all `ended` long ago. */
  const seeds = (name: string, bills: number, ended: boolean): string[] => [
    `INSERT INTO payment_acceptance.shop_order (shop, order_id) SELECT 'main', '${name}' || n FROM generate_series(1, ${bills}) n`,
    `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type, custom,
     custom_given, bill_id, created_at, opened_at, next_check_at, check_after)
   SELECT gen_random_uuid(), 'main', 'main', '${name}' || n, 1, '${ended ? 'PAID' : 'OPEN'}', 10, 'RUB', false, 'normal', '${name}', false,
     '${name}' || n, now(), now(), ${ended ? 'NULL::timestamptz' : `now() - n * interval '1 millisecond'`}, now() - interval '1 hour'
   FROM generate_series(1, ${bills}) n`,
    `INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, digest, corroboration, fields, received_at, pending, due_at)
   SELECT gen_random_uuid(), 'postback', 'main', intent_id, 'match', '{}', '{}', now(), ${!ended}, now() - interval '1 minute'
   FROM payment_acceptance.bill WHERE custom = '${name}'`,
    `INSERT INTO payment_acceptance.event (id, key, name, shop, intent_id, payload, occurred_at)
   SELECT gen_random_uuid(), intent_id::text || s, 'payment.succeeded', 'main', intent_id, '{"of": "${name}"}', now()
   FROM payment_acceptance.bill CROSS JOIN unnest(ARRAY['DONE'${ended ? '' : `, 'PENDING'`}]) s WHERE custom = '${name}'`,
    `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, ended_at)
   SELECT id, name, seq, intent_id, 'orders', split_part(key, intent_id::text, 2), now(), CASE WHEN key LIKE '%DONE' THEN now() END
   FROM payment_acceptance.event WHERE payload = '{"of": "${name}"}'`,
  ];
  const TABLES = ['shop_order', 'bill', 'callback', 'event', 'delivery'];

  type Value = string | number | boolean | null | readonly string[];

  function literal(value: Value): string {
    if (value === null) return 'NULL';
    return `'${Array.isArray(value) ? `{${value.map((item) => JSON.stringify(item)).join(',')}}` : String(value)}'`;
  }

  interface Sent {
    readonly sql: string;
    readonly parameters: readonly Value[];
  }

  /** Captures the statements that every payment executes. */
  interface Preparing {
    sendPrepared(sql: string, parameters: readonly Value[], manager: unknown): Promise<unknown>;
  }

  async function read({ sql, parameters }: Sent, mode: string) {
    const runner = harness.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SET LOCAL plan_cache_mode = ${mode}`);
    await runner.query(`PREPARE looked_at AS ${sql}`);
    const [row] = (await runner.query(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE looked_at (${parameters.map(literal).join(', ')})`,
    )) as [{ 'QUERY PLAN': [{ Plan: PlanNode }] }];
    await runner.query('DEALLOCATE looked_at');
    await runner.rollbackTransaction();
    await runner.release();
    return scans(row['QUERY PLAN'][0].Plan).map((scan) => ({ ...scan, mode, statement: sql.slice(0, 60) }));
  }

  /** What the prepared statements of some work read, with either kind of plan. */
  async function scansOf(work: () => Promise<unknown>) {
    const sent: Sent[] = [];
    const database = harness.host.app.get<Preparing>(Database, { strict: false });
    const often = database.sendPrepared;
    database.sendPrepared = function (this: Preparing, sql, parameters, manager) {
      sent.push({ sql, parameters });
      return often.call(this, sql, parameters, manager);
    };
    await work();
    const reads = [];
    for (const each of sent) {
      for (const mode of ['force_custom_plan', 'force_generic_plan']) reads.push(...(await read(each, mode)));
    }
    return { sent, reads };
  }

  onPostgres(describe)('a claim reads about as many rows as it takes, however many are due', () => {
    test.each([
      ['on tables that the server has never looked at', false],
      ['on tables that it has looked at when they were small, and nothing waited', true],
    ])('a claim reads few rows of a large backlog %s', async (_when, analyzed) => {
      harness = await startHarness({ providers: [EffectWriter], options: { checks: { concurrency: 16 } } });
      const { dataSource, confirmer, deliveries } = harness.host;
      for (const table of TABLES) {
        await dataSource.query(`ALTER TABLE payment_acceptance.${table} SET (autovacuum_enabled = false)`);
      }
      if (analyzed) {
        for (const statement of seeds('history', 100, true)) await dataSource.query(statement);
        for (const table of TABLES) await dataSource.query(`ANALYZE payment_acceptance.${table}`);
      }
      for (const statement of seeds('backlog', 3_000, false)) await dataSource.query(statement);
      await pay(harness, 'after');
      // It is due first, so that something is settled.
      await dataSource.query(
        `UPDATE payment_acceptance.callback SET due_at = now() - interval '1 hour' WHERE order_id = 'after'`,
      );
      const { sent, reads } = await scansOf(async () => {
        await confirmer.runOnce();
        await deliveries.runOnce();
      });
      expect(sent.filter(({ sql }) => sql.includes('INSERT INTO payment_acceptance.payment '))).not.toEqual([]);
      expect(reads.length).toBeGreaterThan(100);
      expect(reads.filter(({ rows }) => rows > 200)).toEqual([]);
    });
  });

  onPostgres(test)(
    'a look-up of due work across hundreds of shops reads only about as many rows as are due',
    async () => {
      const names = Array.from({ length: 500 }, (_, index) => `shop-${index}`);
      const shops = names.map(
        (name) =>
          [name, { shopId: name, apiToken: `${name}-0123456789abcdef`, apiBaseUrl: 'http://127.0.0.1:9' }] as const,
      );
      harness = await startHarness({ options: { shops: Object.fromEntries(shops), defaultShop: names[0] } });
      const { dataSource, confirmer } = harness.host;
      for (const name of names) {
        await dataSource.query(`INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ('${name}', '1')`);
      }
      await dataSource.query(
        `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type,
         custom, custom_given, bill_id, created_at, opened_at, next_check_at, check_after)
       SELECT gen_random_uuid(), shop, shop, order_id, 1, 'OPEN', 10, 'RUB', false, 'normal', '', false, shop, now(), now(),
         now() + interval '1 day', now() FROM payment_acceptance.shop_order`,
      );
      const { reads } = await scansOf(() => confirmer.runOnce());
      expect(reads.length).toBeGreaterThan(10);
      expect(reads.filter(({ rows }) => rows > 100)).toEqual([]);
    },
  );
});
