import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentCallbacks } from 'nestjs-payment-acceptance/callbacks';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { optionsToJson } from '../support/options-json.mjs';
import { holdUp } from '../support/hold-up.js';
import { moduleOptions } from '../support/harness.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { clientsOf } from '../support/beside.js';
import { onStatement } from '../support/statements.js';
import { firstWords } from '../support/first-words.js';
import { postJson } from '../support/http.js';
import { bill, count, dropped, fields, harness, post, rows, start, together } from './support/journal.js';

describe('storing callbacks', () => {
  afterEach(() => harness.close());

  const query = <T>(sql: string, parameters?: unknown[]) => harness.host.dataSource.query<T>(sql, parameters);

  let stop: (() => void) | undefined;
  afterEach(() => stop?.());

  /** Records the statements that store callbacks from now on. */
  function insertions(): string[] {
    const seen: string[] = [];
    stop = onStatement(({ sql }) => {
      if (/INSERT INTO payment_acceptance.callback/.test(sql)) seen.push(sql);
    });
    return seen;
  }

  describe('concurrent callbacks', () => {
    test('concurrent callbacks are stored together, each before its answer', async () => {
      await start();
      const ids = await together(10, (index) => bill(`o-${index}`));
      const stored = await together(50, async (index) => {
        const InvId = `own-${index}`;
        const status = await post(ids[index % 10]!, harness.host, InvId);
        return [
          status,
          (await query<unknown[]>(`SELECT 1 FROM payment_acceptance.callback WHERE order_id = $1`, [InvId])).length,
        ];
      });
      expect(stored).toEqual(Array(50).fill([200, 1]));
      const statements = insertions();
      const callbacks = harness.host.app.get(PaymentCallbacks);
      await together(50, (index) => callbacks.postback(undefined, fields(ids[index % 10]!)));
      expect(statements.length).toBeLessThanOrEqual(2);
    });

    test('callbacks are not answered while their row is being written', async () => {
      await start();
      const billId = await bill('o');
      const held = await holdUp(harness.host.dataSource, 'callback');
      let answered = false;
      const answer = post(billId, harness.host, 'o').finally(() => (answered = true));
      await held.reached();
      // An answer that did not wait would have arrived by now.
      for (let other = 0; other < 5; other += 1) await fetch(`${harness.host.url}/nothing-here`);
      expect(answered).toBe(false);
      await held.letGo();
      expect(await answer).toBe(200);
    });

    test('a callback that the database refuses fails alone, among others stored with it', async () => {
      await start();
      const billId = await bill('o');
      await query(`ALTER TABLE payment_acceptance.callback ADD CHECK (order_id <> 'poison')`);
      const callbacks = harness.host.app.get(PaymentCallbacks);
      const answers = await together(20, (index) =>
        callbacks.postback(undefined, fields(billId, index === 7 ? 'poison' : 'o')),
      );
      const statuses = answers.map(({ status }) => status);
      expect([count(statuses, 200), statuses[7]]).toEqual([19, 503]);
      expect(await rows()).toHaveLength(19);
    });

    test('concurrent callbacks of one bill are stored up to maxPerBill, and copies are dropped', async () => {
      await start({ maxPerBill: 3 });
      const billId = await bill('o');
      expect(await together(20, () => post(billId))).toEqual(Array(20).fill(200));
      expect(await rows()).toHaveLength(3);
      expect(await dropped()).toMatchObject({ repeatedCallbacks: 17 });
    });

    test('a callback with a claim that no pending one has is kept beyond maxPerBill', async () => {
      await start({ maxPerBill: 2 });
      const billId = await bill('o');
      await together(4, () => post(billId));
      const answers = await together(4, () =>
        postJson(`${harness.host.url}/postback/payment`, fields(billId, 'o', 'FAIL')),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const kept = (await rows()).map(({ status }) => status);
      expect(kept.slice(0, 3)).toEqual(['SUCCESS', 'SUCCESS', 'FAIL']);
      // Two are stored singly at the same time and do not see each other.
      expect(kept.length).toBeLessThanOrEqual(4);
    });

    test('callbacks for unknown bills are stored up to maxUnmatched, and those of known bills always', async () => {
      await start({ maxUnmatched: 5 });
      const billId = await bill('o');
      const statuses = await together(40, (index) => post(index % 2 === 0 ? billId : `unknown-${index}`));
      const unknown = statuses.filter((_, index) => index % 2 === 1);
      expect(
        count(
          statuses.filter((_, index) => index % 2 === 0),
          200,
        ),
      ).toBe(20);
      expect(count(unknown, 200)).toBeGreaterThanOrEqual(5);
      expect(count(unknown, 200)).toBeLessThanOrEqual(6);
    });

    test('concurrent callbacks keep the order in which they came', async () => {
      await start();
      const billId = await bill('o');
      const callbacks = harness.host.app.get(PaymentCallbacks);
      await together(30, (index) => callbacks.postback(undefined, fields(billId, `own-${index}`)));
      expect((await rows()).map(({ orderId }) => orderId)).toEqual(
        Array.from({ length: 30 }, (_, index) => `own-${index}`),
      );
    });

    test('concurrent callbacks are all stored where the database is serializable by default', async () => {
      await start();
      const billId = await bill('o');
      const [{ name }] = await query<[{ name: string }]>('SELECT current_database() AS name');
      await query(`ALTER DATABASE "${name}" SET default_transaction_isolation = 'serializable'`);
      const strict = await harness.start();
      expect(await together(60, () => post(billId, strict))).toEqual(Array(60).fill(200));
      expect(await rows()).toHaveLength(60);
    });

    test('callbacks for the same bills at two instances are stored without a deadlock', async () => {
      await start({}, { instances: 2 });
      const ids = await together(6, (index) => bill(`o-${index}`));
      const statuses = await together(240, (index) => post(ids[index % 6]!, harness.instances[index % 2]));
      expect(statuses).toEqual(Array(240).fill(200));
      expect(await rows()).toHaveLength(240);
      expect(await query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()')).toEqual([
        { deadlocks: 0 },
      ]);
    });

    test('concurrent callbacks are stored through a pooler that drops prepared statements', async () => {
      await start();
      const billId = await bill('o');
      await together(4, () => post(billId));
      await Promise.all(
        clientsOf(harness.host.app.get(Database).source).map((client) => client.query('DEALLOCATE ALL')),
      );
      const statements = insertions();
      const callbacks = harness.host.app.get(PaymentCallbacks);
      const answers = await together(20, () => callbacks.postback(undefined, fields(billId)));
      expect(answers).toEqual(Array(20).fill({ kind: 'stored', status: 200 }));
      expect(await rows()).toHaveLength(24);
      // Once as a named statement and once unnamed: still as one batch.
      expect(statements).toHaveLength(2);
    });
  });

  describe('processes killed in the middle', () => {
    const children: ChildProcess[] = [];
    afterEach(() => {
      for (const child of children.splice(0)) child.kill('SIGKILL');
    });

    test('every callback that was answered 200 before kill -9 is stored', async () => {
      await start();
      const ids = await together(20, (index) => bill(`o-${index}`));
      const acknowledged = new Set<string>();
      for (let round = 0; round < 2; round += 1) {
        const hosts = await Promise.all([receive(children), receive(children)]);
        const others = new Map<number | string, number>();
        const killed = new AbortController();
        const over = (): boolean => killed.signal.aborted;
        const kill = (): void => {
          killed.abort();
          for (const { child } of hosts) child.kill('SIGKILL');
        };
        // If the hosts stop answering 200, the test reports what they answered.
        const limit = setTimeout(kill, 15_000);
        await together(40, async (sender) => {
          for (let nr = 0; !over(); nr += 1) {
            const InvId = `own-${round}-${sender}-${nr}`;
            const status = await post(ids[nr % 20]!, hosts[sender % 2], InvId).catch(String);
            if (status === 200) acknowledged.add(InvId);
            else if (!over()) others.set(status, (others.get(status) ?? 0) + 1);
            if (acknowledged.size > 150 * (round + 1)) kill();
          }
        });
        clearTimeout(limit);
        await Promise.all(hosts.map(({ ended }) => ended));
        expect(Object.fromEntries(others)).toEqual({});
      }
      const stored = new Set((await rows()).map(({ orderId }) => orderId));
      expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
      expect(acknowledged.size).toBeGreaterThan(300);
    }, 90_000);
  });

  /** A host in its own process. */
  async function receive(
    children: ChildProcess[],
  ): Promise<{ url: string; child: ChildProcess; ended: Promise<unknown> }> {
    const child = spawn(process.execPath, ['test/support/receiving-host.mjs'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        DATABASE_URL: harness.databaseUrl,
        PAYMENT_OPTIONS: optionsToJson(moduleOptions(harness.sandboxUrl, { callbacks: { maxPerBill: 1_000 } })),
      },
    });
    children.push(child);
    const ended = once(child, 'exit');
    return { url: await firstWords(child), child, ended };
  }
});
