import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import { DataSource, type EntityManager } from 'typeorm';

/** What `processOnce` guarantees on every database. `given` returns a data source of an empty one. */
export function inboxContract(given: () => DataSource): void {
  beforeAll(async () => {
    const { manager } = given();
    await createPaymentInbox(manager);
    await createPaymentInbox(manager); // again: idempotent
    await manager.query('CREATE TABLE done (what varchar(20))');
  });

  beforeEach(async () => {
    await given().query('DELETE FROM payment_inbox');
    await given().query('DELETE FROM done');
  });

  const done = async (): Promise<string[]> => {
    const rows: { what: string }[] = await given().query('SELECT what FROM done ORDER BY what');
    return rows.map(({ what }) => what);
  };
  testCopies(given, done);
  testFailures(given, done);
  testManagers(given, done);
  testTransactions(given, done);
  testConcurrency(given, done);
  testIds(given, done);
}

/** The work that has committed. */
type Done = () => Promise<string[]>;

const work =
  (what: string) =>
  (manager: EntityManager): Promise<unknown> =>
    manager.query(`INSERT INTO done (what) VALUES ('${what}')`);

/** A promise, with the function that resolves it. */
function signal(): { readonly sent: Promise<void>; send(): void } {
  let send = (): void => undefined;
  const sent = new Promise<void>((resolve) => (send = resolve));
  return { sent, send: () => send() };
}

function testCopies(given: () => DataSource, done: Done): void {
  test('processOnce ignores a copy of an event', async () => {
    const { manager } = given();
    expect(await processOnce(manager, { id: 'e-1' }, work('first'))).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('copy'))).toBe(false);
    expect(await processOnce(manager, { id: 'e-2' }, work('other'))).toBe(true);
    expect(await done()).toEqual(['first', 'other']);
  });

  test('processOnce processes an event once for each consumer of a database', async () => {
    const { manager } = given();
    expect(await processOnce(manager, { id: 'e-1' }, work('orders'), { consumer: 'orders' })).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('mail'), { consumer: 'mail' })).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('again'), { consumer: 'mail' })).toBe(false);
    expect(await done()).toEqual(['mail', 'orders']);
  });
}

function testFailures(given: () => DataSource, done: Done): void {
  test('processOnce refuses a data source and a query runner', async () => {
    const dataSource = given();
    const runner = dataSource.createQueryRunner();
    for (const target of [dataSource, runner] as unknown as EntityManager[]) {
      await expect(processOnce(target, { id: 'e-1' }, work('none'))).rejects.toThrow('pass dataSource.manager');
      await expect(createPaymentInbox(target)).rejects.toThrow('pass dataSource.manager');
    }
    // @ts-expect-error: the types say so, too
    await expect(processOnce(runner, { id: 'e-1' }, work('none'))).rejects.toThrow(TypeError);
    await runner.release();
    expect(await done()).toEqual([]);
  });

  test('processOnce ends if its pool is closed while work is under way', async () => {
    const own = await new DataSource(given().options).initialize();
    const [begun, go] = [signal(), signal()];
    const working = processOnce(own.manager, { id: 'e-1' }, async (inner) => {
      begun.send();
      await go.sent;
      await work('late')(inner);
    });
    await begun.sent;
    const ends = Promise.allSettled([working, own.destroy()]);
    await new Promise((resolve) => setImmediate(resolve));
    go.send();
    expect(await ends).toHaveLength(2);
  });

  test('processOnce within other work ignores a copy, without failing', async () => {
    const { manager } = given();
    await processOnce(manager, { id: 'e-1' }, work('first'));
    const outer = async (inner: EntityManager): Promise<void> => {
      expect(await processOnce(inner, { id: 'e-1' }, work('copy'))).toBe(false);
      await work('outer')(inner);
    };
    expect(await processOnce(manager, { id: 'e-2' }, outer)).toBe(true);
    const own = (inner: EntityManager) => processOnce(inner, { id: 'e-3' }, outer);
    expect(await manager.transaction(own)).toBe(true);
    expect(await done()).toEqual(['first', 'outer', 'outer']);
  });

  test('processOnce shares its connection with nobody if the work releases its runner', async () => {
    const dataSource = given();
    const releasing = async (inner: EntityManager): Promise<void> => {
      await inner.queryRunner?.release();
      await dataSource.query(`INSERT INTO done (what) VALUES ('of another')`);
      throw new Error('no stock');
    };
    await expect(processOnce(dataSource.manager, { id: 'e-1' }, releasing)).rejects.toThrow('no stock');
    expect(await done()).toEqual(['of another']);
  });

  test('work that fails leaves nothing behind, and processOnce can process the event again', async () => {
    const { manager } = given();
    const failing = async (inner: EntityManager): Promise<void> => {
      await work('half')(inner);
      throw new Error('no stock');
    };
    await expect(processOnce(manager, { id: 'e-1' }, failing)).rejects.toThrow('no stock');
    expect(await done()).toEqual([]);
    expect(await processOnce(manager, { id: 'e-1' }, work('whole'))).toBe(true);
    expect(await done()).toEqual(['whole']);
  });

  test('a transaction can be rolled back as ever after work in processOnce that threw at once', async () => {
    const runner = given().createQueryRunner();
    await runner.startTransaction();
    const throwing = (): never => {
      throw new Error('no stock');
    };
    await expect(processOnce(runner.manager, { id: 'e-1' }, throwing)).rejects.toThrow('no stock');
    await expect(runner.query('SELECT nothing FROM nowhere')).rejects.toThrow(/nowhere/);
    await runner.rollbackTransaction();
    await runner.release();
  });

  test('processOnce fails if the work swallows a failed statement', async () => {
    const { manager } = given();
    const swallowing = async (inner: EntityManager): Promise<void> => {
      await work('before')(inner);
      await inner.query('SELECT nothing FROM nowhere').catch(() => undefined);
      await work('after')(inner).catch(() => undefined);
    };
    await expect(processOnce(manager, { id: 'e-1' }, swallowing)).rejects.toThrow(
      'A statement of the transaction has failed, so it cannot be committed.',
    );
    expect(await done()).toEqual([]);
    expect(await processOnce(manager, { id: 'e-1' }, work('whole'))).toBe(true);
    expect(await done()).toEqual(['whole']);
  });
}

/** Loses a deadlock: the database has rolled back everything before it. */
async function loseDeadlock(dataSource: DataSource, inner: EntityManager): Promise<void> {
  const rival = dataSource.createQueryRunner();
  try {
    await rival.startTransaction('READ COMMITTED');
    // The rival has written more and waits longer, so the server chooses the other one as the deadlock's victim.
    if (dataSource.options.type === 'postgres') await rival.query(`SET LOCAL deadlock_timeout = '1h'`);
    await rival.query('UPDATE seat SET taken = 9 WHERE id > 1');
    await inner.query('UPDATE seat SET taken = 1 WHERE id = 1');
    const waiting = rival.query('UPDATE seat SET taken = 9 WHERE id = 1');
    await expect(inner.query('UPDATE seat SET taken = 1 WHERE id = 2')).rejects.toThrow(/deadlock/i);
    await waiting;
  } finally {
    await rival.rollbackTransaction();
    await rival.release();
  }
}

type Once = (manager: EntityManager) => Promise<boolean>;
type Spoil = (inner: EntityManager, dataSource: DataSource) => Promise<unknown>;

/** A caller who also ends what its work has begun by hand. */
async function inTransaction(dataSource: DataSource, once: Once): Promise<boolean> {
  const runner = dataSource.createQueryRunner();
  await runner.startTransaction();
  try {
    const isDone = await once(runner.manager);
    await runner.commitTransaction();
    return isDone;
  } catch (error) {
    await runner.query('ROLLBACK');
    throw error;
  } finally {
    await runner.release();
  }
}

/** Whose manager `processOnce` may be given. Each says what it returned, once all of it is committed. */
const MANAGERS: [string, (dataSource: DataSource, once: Once) => Promise<boolean>][] = [
  ['the data source', ({ manager }, once) => once(manager)],
  [
    'a query runner without a transaction',
    async (dataSource, once) => {
      const runner = dataSource.createQueryRunner();
      try {
        return await once(runner.manager);
      } finally {
        await runner.release();
      }
    },
  ],
  ["a caller's transaction", (dataSource, once) => inTransaction(dataSource, once)],
  [
    "a transaction within a caller's transaction",
    (dataSource, once) => inTransaction(dataSource, (outer) => outer.transaction(once)),
  ],
];

/** What ends the transaction, or a part of it, without a sign of it to who swallows the error. */
const SPOILED: [string, Spoil][] = [
  ['a failed statement', (inner) => inner.query('SELECT nothing FROM nowhere').catch(() => undefined)],
  ['a deadlock', (inner, dataSource) => loseDeadlock(dataSource, inner)],
  ['a ROLLBACK', (inner) => inner.query('ROLLBACK')],
  [
    'a ROLLBACK and a new transaction',
    async (inner) => {
      await inner.query('ROLLBACK');
      await inner.query('BEGIN').catch(() => undefined);
    },
  ],
];

function testManagers(given: () => DataSource, done: Done): void {
  beforeAll(async () => {
    const { manager } = given();
    await manager.query('CREATE TABLE seat (id int PRIMARY KEY, taken int NOT NULL)');
    const seats = Array.from({ length: 20 }, (_, index) => `(${index + 1}, 0)`);
    await manager.query(`INSERT INTO seat VALUES ${seats.join(', ')}`);
  });

  test.each(MANAGERS)(
    'processOnce with the manager of %s returns true only for completed work',
    async (_whose, within) => {
      const once: Once = (manager) => processOnce(manager, { id: 'e-1' }, work('whole'));
      expect(await within(given(), once)).toBe(true);
      expect(await within(given(), once)).toBe(false);
      expect(await done()).toEqual(['whole']);
    },
  );

  const table = MANAGERS.flatMap(([whose, within]) => SPOILED.map(([what, spoil]) => ({ whose, within, what, spoil })));
  test.each(table)(
    'processOnce with the manager of $whose fails if the work swallows $what',
    async ({ within, spoil, what }) => {
      const once: Once = (manager) =>
        processOnce(manager, { id: 'e-1' }, async (inner) => {
          await work('before')(inner);
          await spoil(inner, given());
          await work('after')(inner).catch(() => undefined);
        });
      await expect(within(given(), once)).rejects.toThrow();
      // What is sent after a ROLLBACK of one's own on PostgreSQL commits by itself, and nobody can prevent it.
      if (!what.includes('ROLLBACK')) expect(await done()).toEqual([]);
      await given().query('DELETE FROM done');
      expect(await processOnce(given().manager, { id: 'e-1' }, work('whole'))).toBe(true);
      expect(await done()).toEqual(['whole']);
    },
  );

  test('processOnce leaves the settings of the session unchanged', async () => {
    const runner = given().createQueryRunner();
    const settings = async (): Promise<unknown> =>
      given().options.type === 'postgres'
        ? runner.query('SELECT 1 AS one')
        : runner.query('SELECT @@autocommit AS autocommit, @@tx_read_only AS readonly, @@in_transaction AS open');
    try {
      const before = await settings();
      await processOnce(runner.manager, { id: 'e-1' }, work('whole'));
      await runner.manager.transaction((outer) => processOnce(outer, { id: 'e-2' }, work('more')));
      expect(await settings()).toEqual(before);
    } finally {
      await runner.release();
    }
  });
}

function testTransactions(given: () => DataSource, done: Done): void {
  test("processOnce in a caller's transaction commits or rolls back with it", async () => {
    const { manager } = given();
    const rolledBack = manager.transaction(async (outer) => {
      expect(await processOnce(outer, { id: 'e-1' }, work('lost'))).toBe(true);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    const goesOn = manager.transaction(async (outer) => {
      const failing = processOnce(outer, { id: 'e-1' }, () => Promise.reject(new Error('no stock')));
      await failing.catch(() => undefined);
      await work('outside')(outer);
    });
    await goesOn;
    expect(await done()).toEqual(['outside']);
    expect(await processOnce(manager, { id: 'e-1' }, work('inside'))).toBe(true);
  });
}

function testConcurrency(given: () => DataSource, done: Done): void {
  test('concurrent copies wait for the first processOnce, and only one does the work', async () => {
    const { manager } = given();
    const [begun, gate] = [signal(), signal()];
    let runs = 0;
    const slow = async (inner: EntityManager): Promise<void> => {
      runs += 1;
      begun.send();
      await gate.sent;
      await work('once')(inner);
    };
    const copies = Array.from({ length: 5 }, () => processOnce(manager, { id: 'e-1' }, slow));
    await begun.sent;
    gate.send();
    expect((await Promise.all(copies)).filter(Boolean)).toEqual([true]);
    expect(runs).toBe(1);
    expect(await done()).toEqual(['once']);
  });

  test('a waiting copy does the work if the first processOnce fails', async () => {
    const { manager } = given();
    const [begun, gate] = [signal(), signal()];
    const failing = processOnce(manager, { id: 'e-1' }, async () => {
      begun.send();
      await gate.sent;
      throw new Error('no stock');
    });
    await begun.sent;
    const copy = processOnce(manager, { id: 'e-1' }, work('copy'));
    gate.send();
    await expect(failing).rejects.toThrow('no stock');
    expect(await copy).toBe(true);
    expect(await done()).toEqual(['copy']);
  });
}

function testIds(given: () => DataSource, done: Done): void {
  test.each([
    ['', 'default'],
    ['x'.repeat(256), 'default'],
    ['a\0b', 'default'],
    ['\ud800', 'default'],
    ['e-1 ', 'default'],
    ['e-1', ''],
    ['e-1', 'x'.repeat(101)],
  ])('processOnce refuses an id or consumer that the table cannot hold (%#)', async (id, consumer) => {
    await expect(processOnce(given().manager, { id }, work('never'), { consumer })).rejects.toThrow(RangeError);
    expect(await done()).toEqual([]);
  });

  test('processOnce compares ids character by character', async () => {
    const ids = ['a', 'A', 'ä', 'á', 'ﬀ', 'ff', '😀', '😁'];
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(true);
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(false);
  });
}
