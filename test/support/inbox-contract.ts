import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import type { DataSource, EntityManager } from 'typeorm';

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
  test('a copy of an event is ignored', async () => {
    const { manager } = given();
    expect(await processOnce(manager, { id: 'e-1' }, work('first'))).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('copy'))).toBe(false);
    expect(await processOnce(manager, { id: 'e-2' }, work('other'))).toBe(true);
    expect(await done()).toEqual(['first', 'other']);
  });

  test('each consumer of one database processes the event', async () => {
    const { manager } = given();
    expect(await processOnce(manager, { id: 'e-1' }, work('orders'), { consumer: 'orders' })).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('mail'), { consumer: 'mail' })).toBe(true);
    expect(await processOnce(manager, { id: 'e-1' }, work('again'), { consumer: 'mail' })).toBe(false);
    expect(await done()).toEqual(['mail', 'orders']);
  });
}

function testFailures(given: () => DataSource, done: Done): void {
  test('work that fails leaves nothing behind, and the event can be processed again', async () => {
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

  test('work that swallows a failed statement fails', async () => {
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

  test('so does work that swallows a deadlock, which has rolled back everything before it', async () => {
    const { manager } = given();
    await manager.query('CREATE TABLE seat (id int PRIMARY KEY, taken int NOT NULL)');
    await manager.query(
      `INSERT INTO seat VALUES ${Array.from({ length: 20 }, (_, index) => `(${index + 1}, 0)`).join(', ')}`,
    );
    const rival = given().createQueryRunner();
    await rival.startTransaction('READ COMMITTED');
    // The rival has written more and waits longer, so the server chooses the other one as the deadlock's victim.
    if (given().options.type === 'postgres') await rival.query(`SET LOCAL deadlock_timeout = '1h'`);
    await rival.query('UPDATE seat SET taken = 9 WHERE id > 1');
    const deadlocked = async (inner: EntityManager): Promise<void> => {
      await work('before')(inner);
      await inner.query('UPDATE seat SET taken = 1 WHERE id = 1');
      const waiting = rival.query('UPDATE seat SET taken = 9 WHERE id = 1').catch(() => undefined);
      await inner.query('UPDATE seat SET taken = 1 WHERE id = 2').catch(() => rival.rollbackTransaction());
      await waiting;
      await work('after')(inner).catch(() => undefined);
    };
    const tried = processOnce(manager, { id: 'e-1' }, deadlocked);
    await expect(tried).rejects.toThrow(/A statement of the transaction has failed/);
    if (rival.isTransactionActive) await rival.rollbackTransaction();
    await rival.release();
    await manager.query('DROP TABLE seat');
    expect(await done()).toEqual([]);
    expect(await processOnce(manager, { id: 'e-1' }, work('whole'))).toBe(true);
    expect(await done()).toEqual(['whole']);
  });
}

function testTransactions(given: () => DataSource, done: Done): void {
  test("in a caller's transaction, it commits or rolls back with it", async () => {
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
  test('concurrent copies wait for the first one, and only one does the work', async () => {
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

  test('if the first one fails, a waiting copy does the work', async () => {
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
  ])('an id or consumer that the table cannot hold is refused (%#)', async (id, consumer) => {
    await expect(processOnce(given().manager, { id }, work('never'), { consumer })).rejects.toThrow(RangeError);
    expect(await done()).toEqual([]);
  });

  test('ids are compared character by character', async () => {
    const ids = ['a', 'A', 'ä', 'á', 'ﬀ', 'ff', '😀', '😁'];
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(true);
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(false);
  });
}
