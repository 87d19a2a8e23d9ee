import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import type { DataSource, EntityManager } from 'typeorm';

/** What `processOnce` keeps on every database. `given` is a data source of an empty one. */
export function inboxContract(given: () => DataSource): void {
  beforeAll(async () => {
    const { manager } = given();
    await createPaymentInbox(manager);
    await createPaymentInbox(manager); // again: it is there
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
  const work =
    (what: string) =>
    (manager: EntityManager): Promise<unknown> =>
      manager.query(`INSERT INTO done (what) VALUES ('${what}')`);

  test('a copy of an event does nothing', async () => {
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

  test('work that fails leaves the event new, and nothing behind', async () => {
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

  test('work that swallowed the failure of a statement counts as failed', async () => {
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

  test('so does work that swallowed a deadlock, which has undone all before it', async () => {
    const { manager } = given();
    await manager.query('CREATE TABLE seat (id int PRIMARY KEY, taken int NOT NULL)');
    await manager.query(
      `INSERT INTO seat VALUES ${Array.from({ length: 20 }, (_, index) => `(${index + 1}, 0)`).join(', ')}`,
    );
    const rival = given().createQueryRunner();
    await rival.startTransaction('READ COMMITTED');
    // It has written more, and is more patient, so the server gives the other one up.
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

  test('within a transaction of the caller it commits with it, or not at all', async () => {
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

  test('copies at the same moment wait for the first one: one of them works', async () => {
    const { manager } = given();
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    let begun = (): void => undefined;
    const first = new Promise<void>((resolve) => (begun = resolve));
    let runs = 0;
    const slow = async (inner: EntityManager): Promise<void> => {
      runs += 1;
      begun();
      await gate;
      await work('once')(inner);
    };
    const copies = Array.from({ length: 5 }, () => processOnce(manager, { id: 'e-1' }, slow));
    await first;
    letGo();
    expect((await Promise.all(copies)).filter(Boolean)).toEqual([true]);
    expect(runs).toBe(1);
    expect(await done()).toEqual(['once']);
  });

  test('where the first one fails, a copy that has waited for it does the work', async () => {
    const { manager } = given();
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const failing = processOnce(manager, { id: 'e-1' }, async () => {
      begun();
      await gate;
      throw new Error('no stock');
    });
    await running;
    const copy = processOnce(manager, { id: 'e-1' }, work('copy'));
    letGo();
    await expect(failing).rejects.toThrow('no stock');
    expect(await copy).toBe(true);
    expect(await done()).toEqual(['copy']);
  });

  test.each([
    ['', 'default'],
    ['x'.repeat(256), 'default'],
    ['a\0b', 'default'],
    ['\ud800', 'default'],
    ['e-1 ', 'default'],
    ['e-1', ''],
    ['e-1', 'x'.repeat(101)],
  ])('what the table cannot hold is refused (%#)', async (id, consumer) => {
    await expect(processOnce(given().manager, { id }, work('never'), { consumer })).rejects.toThrow(RangeError);
    expect(await done()).toEqual([]);
  });

  test('ids differ by every character', async () => {
    const ids = ['a', 'A', 'ä', 'á', 'ﬀ', 'ff', '😀', '😁'];
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(true);
    for (const id of ids) expect(await processOnce(given().manager, { id }, work('each'))).toBe(false);
  });
}
