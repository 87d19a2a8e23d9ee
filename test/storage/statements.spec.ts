import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { flag, instant, integer } from '../../libs/payment-acceptance/src/database/reading.js';
import { join, sql } from '../../libs/payment-acceptance/src/database/statement.js';
import { Records } from './support/records.js';

describe('a statement', () => {
  let records: Records;
  beforeAll(async () => {
    records = await Records.open();
  });
  afterAll(() => records.close());

  test('a statement can embed another one, with its parameters in order', () => {
    const inner = sql`b = ${2} AND c = ${3}`;
    const whole = sql`SELECT ${1} WHERE ${inner} OR ${join([inner, sql`d`], ', ')} LIMIT ${4}`;
    expect(whole.text((place) => `$${place}`)).toBe(
      'SELECT $1 WHERE b = $2 AND c = $3 OR b = $4 AND c = $5, d LIMIT $6',
    );
    expect(whole.values).toEqual([1, 2, 3, 2, 3, 4]);
    expect(inner.values).toEqual([2, 3]);
  });

  test('a statement reads instants, numbers, booleans and JSON in the same form on each database', async () => {
    const { dialect } = records.database;
    const at = dialect.instant(Date.UTC(2026, 1, 3, 4, 5, 6, 789));
    const [row] = await records.database.rows<{
      iso: string;
      at: Date;
      none: Date | null;
      ms: number;
      yes: boolean;
      no: boolean;
      decimal: string;
      property: string;
      absent: string | null;
    }>({ at: instant, none: instant, ms: integer, yes: flag, no: flag })`
      SELECT ${dialect.iso(at)} AS iso, ${dialect.epochMs(at)} AS at, NULL AS none,
        ${dialect.msBetween(at, dialect.instant(Date.UTC(2026, 1, 3, 4, 5, 7, 0)))} AS ms, 1 = 1 AS yes, 1 = 2 AS "no",
        ${dialect.text(sql`b.amount`)} AS "decimal", ${dialect.jsonText('b.object', 'some')} AS property,
        ${dialect.jsonText('b.object', 'other')} AS absent
      FROM (SELECT 12.50 AS amount, d.object FROM (${object('{"some":"text ?"}')}) d) b`;
    expect(row).toEqual({
      iso: '2026-02-03T04:05:06.789Z',
      at: new Date('2026-02-03T04:05:06.789Z'),
      none: null,
      ms: 211,
      yes: true,
      no: false,
      decimal: '12.50',
      property: 'text ?',
      absent: null,
    });
  });

  test('a list in a statement matches its members, and an empty one nothing', async () => {
    for (const shop of ['b', 'a']) await addShop(shop);
    expect(await shopsIn([])).toEqual([]);
    expect(await shopsIn(['b', "c'"])).toEqual([{ shop: 'b' }]);
  });

  test("a statement counts the rows it has changed, and uses the module's clock", async () => {
    const { database, clock } = records;
    await addShop('changed');
    const refuse = () =>
      database.change`
        UPDATE payment_acceptance.shop_state SET refused_since = ${database.dialect.now(database.offsetMs)}
        WHERE shop = ${'changed'} AND refused_since IS NULL`;
    clock.advance(3_600_000);
    expect([await refuse(), await refuse()]).toEqual([1, 0]);
    const [row] = await database.rows<{ since: Date }>({ since: instant })`
      SELECT ${database.dialect.epochMs('refused_since')} AS since FROM payment_acceptance.shop_state
      WHERE shop = 'changed'`;
    expect(Math.abs(Number(row?.since) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });

  const object = (text: string) =>
    records.database.dialect.parameter(1) === '?'
      ? sql`SELECT ${text} AS object`
      : sql`SELECT ${text}::jsonb AS object`;
  const addShop = (shop: string) =>
    records.database.change`INSERT INTO payment_acceptance.shop_state (shop, next_request_at)
      VALUES (${shop}, ${records.database.dialect.now(0)})`;
  const shopsIn = (shops: string[]) =>
    records.database.rows<{ shop: string }>({})`
      SELECT shop FROM payment_acceptance.shop_state WHERE shop ${records.database.dialect.oneOf(shops, 'text')}`;
});
