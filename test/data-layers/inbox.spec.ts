import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import { DataSource } from 'typeorm';
import { processOnceInLayer } from '../../libs/payment-acceptance/src/brokers/inbox/process-once-in-layer.js';
import { connectionOf, createTestDatabase, ON_MARIADB, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { LAYERS } from './layers.mjs';

type Layer = Awaited<ReturnType<(typeof LAYERS)[number]['open']>>;
type Work = (tx: unknown) => Promise<unknown>;

const EVENT = { id: 'e-1' };
const swallow = (statement: Promise<unknown>): Promise<unknown> => statement.catch(() => undefined);

describe.each(LAYERS)('processOnce in transactions of $name', ({ open, absent, commitsUnawaited }) => {
  const each = absent === undefined ? test : test.skip;
  const onPostgres = absent === undefined && !ON_MARIADB ? test : test.skip;
  let database: TestDatabase;
  let dataSource: DataSource;
  let layer: Layer;
  const once = (work: Work, event = EVENT, options = {}) => processOnce(layer.transactions, event, work, options);
  const write =
    (what: string): Work =>
    (tx) =>
      layer.send(tx, `INSERT INTO done (what) VALUES ('${what}')`);
  const query = <Row>(text: string): Promise<Row[]> => dataSource.query<Row[]>(text);
  const done = async (): Promise<string[]> =>
    (await query<{ what: string }>('SELECT what FROM done ORDER BY what')).map(({ what }) => what);

  beforeAll(async () => {
    if (absent !== undefined) return;
    database = await createTestDatabase();
    dataSource = await new DataSource(connectionOf(database.url)).initialize();
    layer = await open(database.url);
    await createPaymentInbox(layer.transactions);
    await createPaymentInbox(layer.transactions); // again: idempotent
    await query('CREATE TABLE done (what varchar(20))');
    await query('CREATE TABLE seat (id int PRIMARY KEY, taken int)');
    await query(`INSERT INTO seat VALUES ${Array.from({ length: 50 }, (_, seat) => `(${seat + 1}, 0)`).join(', ')}`);
  });
  beforeEach(async () => {
    if (absent !== undefined) return;
    await query('DELETE FROM payment_inbox');
    await query('DELETE FROM done');
  });
  afterAll(async () => {
    if (absent !== undefined) return;
    await layer.close();
    await dataSource.destroy();
    await database.drop();
  });

  each('processOnce ignores a copy of an event, for each consumer by itself', async () => {
    expect(await once(write('first'))).toBe(true);
    expect(await once(write('copy'))).toBe(false);
    expect(await once(write('mail'), EVENT, { consumer: 'mail' })).toBe(true);
    expect(await once(write('other'), { id: 'e-2' })).toBe(true);
    expect(await done()).toEqual(['first', 'mail', 'other']);
  });

  each('failed work of processOnce leaves nothing behind, and the event can be processed again', async () => {
    const failing: Work = async (tx) => {
      await write('half')(tx);
      throw new Error('no stock');
    };
    await expect(once(failing)).rejects.toThrow('no stock');
    expect(await done()).toEqual([]);
    expect(await once(write('whole'))).toBe(true);
    expect(await done()).toEqual(['whole']);
  });

  each('processOnce keeps nothing that failed work has persisted', async () => {
    if (!layer.persist) return;
    const { persist } = layer;
    const failing: Work = (tx) => {
      persist(tx, { table: 'done', values: { what: 'half' } });
      return Promise.reject(new Error('no stock'));
    };
    await expect(once(failing)).rejects.toThrow('no stock');
    expect(await done()).toEqual([]);
    expect(await once(write('whole'))).toBe(true);
    expect(await done()).toEqual(['whole']);
  });

  each('processOnce keeps nothing of work that outlives its time limit, though it goes on', async () => {
    let working: Promise<unknown> = Promise.resolve();
    const slow: Work = (tx) => {
      working = layer
        .send(tx, ON_MARIADB ? 'SELECT SLEEP(1)' : 'SELECT pg_sleep(1)::text')
        .then(() => write('late')(tx));
      return working;
    };
    const record = { consumer: 'orders', id: EVENT.id };
    await expect(processOnceInLayer(layer.transactions, record, slow, { workMs: 100 })).rejects.toThrow(
      'within 100 ms',
    );
    await swallow(working);
    // On PostgreSQL the session goes on, and MikroORM sends what comes after its transaction on another connection.
    if (ON_MARIADB || !commitsUnawaited) expect(await done()).toEqual([]);
    expect(await once(write('whole'))).toBe(true);
  });

  onPostgres('processOnce fails if the work swallows a failed statement', async () => {
    const swallowing: Work = async (tx) => {
      await write('before')(tx);
      await swallow(layer.send(tx, 'SELECT nothing FROM done'));
    };
    await expect(once(swallowing)).rejects.toThrow('A statement of the transaction has failed');
    expect(await done()).toEqual([]);
    expect(await once(write('whole'))).toBe(true);
  });

  each('processOnce fails if the work ends the transaction by itself', async () => {
    const ending: Work = async (tx) => {
      await write('half')(tx);
      await layer.send(tx, 'ROLLBACK');
      await swallow(write('after')(tx));
    };
    await expect(once(ending)).rejects.toThrow();
    expect(await query('SELECT event_id FROM payment_inbox')).toEqual([]);
    expect(await once(write('whole'))).toBe(true);
  });

  each(
    'processOnce fails if the work catches a lost deadlock, and keeps nothing that it writes afterwards',
    async () => {
      const losing: Work = async (tx) => {
        await write('before')(tx);
        await loseDeadlock(tx);
        await swallow(write('after')(tx));
      };
      await expect(once(losing)).rejects.toThrow();
      expect(await done()).toEqual([]);
      expect(await once(write('whole'))).toBe(true);
    },
  );

  /** The rival has written more and waits longer, so the server chooses the other one as the victim. */
  async function loseDeadlock(tx: unknown): Promise<void> {
    const rival = dataSource.createQueryRunner();
    try {
      await rival.startTransaction('READ COMMITTED');
      if (!ON_MARIADB) await rival.query(`SET LOCAL deadlock_timeout = '1h'`);
      await rival.query('UPDATE seat SET taken = 9 WHERE id > 1');
      await layer.send(tx, 'UPDATE seat SET taken = 1 WHERE id = 1');
      const waiting = rival.query('UPDATE seat SET taken = 9 WHERE id = 1');
      await expect(layer.send(tx, 'UPDATE seat SET taken = 1 WHERE id = 2')).rejects.toThrow();
      await waiting;
    } finally {
      await rival.rollbackTransaction();
      await rival.release();
    }
  }

  each('of five concurrent copies processOnce does the work of one, and the others wait for it', async () => {
    const copies = Array.from({ length: 5 }, () => once(write('once')));
    expect((await Promise.all(copies)).filter(Boolean)).toHaveLength(1);
    expect(await done()).toEqual(['once']);
  });

  each('a copy that waits for failing work of processOnce does the work itself', async () => {
    let begun = (): void => undefined;
    const isAtWork = new Promise<void>((resolve) => (begun = resolve));
    let fail = (): void => undefined;
    const failure = new Promise<never>((_resolve, reject) => (fail = () => reject(new Error('no stock'))));
    const failing = once(async () => {
      begun();
      await failure;
    });
    await isAtWork;
    const waiting = once(write('second'));
    fail();
    await expect(failing).rejects.toThrow('no stock');
    expect(await waiting).toBe(true);
    expect(await done()).toEqual(['second']);
  });

  each('processOnce restores the connection, even if the work ends the transaction through its layer', async () => {
    const setting = ON_MARIADB ? '@@autocommit' : `current_setting('transaction_isolation')`;
    const read = (): Promise<readonly unknown[]> =>
      layer.transactions.run(
        async (tx) => (await layer.transactions.query(tx, `SELECT ${setting} AS setting`, [], 'rows')).rows,
        { signal: AbortSignal.timeout(10_000), timeoutMs: 10_000 },
      );
    const before = await read();
    await swallow(once(() => Promise.reject(new Error('no stock'))));
    await once(write('first'));
    await swallow(once((tx) => layer.end?.(tx) ?? Promise.resolve(), { id: 'e-2' }));
    // A session that was killed may be met once more.
    const settings = await until(
      () => Promise.all([read(), read(), read(), read()]).catch(() => []),
      (rows) => rows.length > 0,
    );
    for (const rows of settings) expect(rows).toEqual(before);
  });
});
