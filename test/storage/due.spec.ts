import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import {
  MAX_DUE_BILLS,
  type DueShops,
  type DueStore,
} from '../../libs/payment-acceptance/src/settlement/storage/due.store.js';
import { MariaDueStore } from '../../libs/payment-acceptance/src/settlement/storage/mariadb/due.store.js';
import { MariaDatabase } from '../../libs/payment-acceptance/src/database/mariadb/maria.database.js';
import { PostgresDueStore } from '../../libs/payment-acceptance/src/settlement/storage/postgres/due.store.js';
import { ShopStore } from '../../libs/payment-acceptance/src/settlement/storage/shop.store.js';
import type { PostgresDatabase } from '../../libs/payment-acceptance/src/database/postgres/postgres.database.js';
import { join, rawSql, sql, type Statement } from '../../libs/payment-acceptance/src/database/statement.js';
import { SEED } from '../support/seed.js';
import { Records } from './support/records.js';

const PROBE_MS = 60_000;
const SHOPS = ['a', 'b', 'c', 'd', 'of-another-instance'];
const FOLLOWED = SHOPS.slice(0, 4);

/** Instants are seconds from the present one; no two things happen at it. */
interface BillAt {
  readonly shop: string;
  readonly known: boolean;
  readonly checkAfter: number;
  readonly nextCheck: number | null;
  readonly leaseUntil: number | null;
  /** When its callbacks are due. */
  readonly callbacks: readonly number[];
}

type Refusals = Readonly<Record<string, number | null>>;

const seconds = fc.integer({ min: -100, max: 100 }).map((tenth) => (tenth === 0 ? 0.5 : tenth) * 5);
const bill: fc.Arbitrary<BillAt> = fc.record({
  shop: fc.constantFrom(...SHOPS),
  known: fc.boolean(),
  checkAfter: seconds,
  nextCheck: fc.option(seconds),
  leaseUntil: fc.option(seconds),
  callbacks: fc.array(seconds, { maxLength: 2 }),
});
/** Of some shops, when each is to be probed. */
const refusals: fc.Arbitrary<Refusals> = fc.dictionary(fc.constantFrom(...FOLLOWED), seconds);

/** What is due, by all that there is. */
function expected(bills: readonly BillAt[], refused: Refusals): DueShops {
  const due = new Set<string>();
  const pauses: number[] = [];
  for (const { shop, known, checkAfter, nextCheck, leaseUntil, callbacks } of bills) {
    if (!known || !FOLLOWED.includes(shop)) continue;
    const probe = refused[shop];
    const waits = probe !== undefined && probe !== null && probe > 0 && probe * 1_000 <= PROBE_MS ? probe : -Infinity;
    for (const at of [...callbacks, ...(nextCheck === null ? [] : [nextCheck])]) {
      const claimable = Math.max(at, checkAfter, leaseUntil ?? -Infinity, waits);
      if (claimable <= 0) due.add(shop);
      else pauses.push(claimable);
    }
  }
  return { shops: [...due].sort(), nextMs: due.size > 0 || pauses.length === 0 ? null : Math.min(...pauses) * 1_000 };
}

describe('due work', () => {
  let records: Records;
  let store: DueStore;
  beforeAll(async () => {
    records = await Records.open();
    const { database } = records;
    store =
      database instanceof MariaDatabase
        ? new MariaDueStore(database)
        : new PostgresDueStore(database as PostgresDatabase);
    await new ShopStore(database).register(SHOPS);
  });
  afterAll(() => records.close());

  const at = (offset: number | null): Statement =>
    offset === null ? sql`NULL` : records.database.dialect.now(records.database.offsetMs + offset * 1_000);

  async function write(bills: readonly BillAt[], refused: Refusals): Promise<void> {
    const { database } = records;
    for (const table of ['callback', 'bill', 'shop_order']) {
      await database.change`DELETE FROM payment_acceptance.${rawSql(table)}`;
    }
    await database.change`UPDATE payment_acceptance.shop_state SET refused_since = NULL, probe_at = NULL`;
    for (const [shop, probe] of Object.entries(refused)) {
      await database.change`
        UPDATE payment_acceptance.shop_state SET refused_since = ${at(-1)}, probe_at = ${at(probe)} WHERE shop = ${shop}`;
    }
    if (bills.length === 0) return;
    const rows = bills.map((each) => ({ ...each, id: randomUUID() }));
    await database.change`INSERT INTO payment_acceptance.shop_order (shop, order_id)
      VALUES ${join(
        rows.map(({ shop, id }) => sql`(${shop}, ${id})`),
        ', ',
      )}`;
    const values = rows.map(
      ({ id, shop, known, checkAfter, nextCheck, leaseUntil }) =>
        sql`(${id}, ${shop}, ${shop}, ${id}, 1, 'OPEN', 10.50, 'RUB', false, 'normal', 'c', true, ${known ? id : null}, ${at(0)},
          ${at(0)}, ${at(checkAfter)}, ${at(nextCheck)}, ${at(leaseUntil)})`,
    );
    await database.change`
      INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission,
        type, custom, custom_given, bill_id, created_at, opened_at, check_after, next_check_at, lease_until)
      VALUES ${join(values, ', ')}`;
    const callbacks = rows.flatMap(({ id, shop, callbacks: of }) =>
      of.map(
        (due) => sql`(${randomUUID()}, 'postback', ${shop}, ${id}, 'match', '{}', '{}', ${at(-600)}, TRUE, ${at(due)})`,
      ),
    );
    if (callbacks.length === 0) return;
    await database.change`
      INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, digest, corroboration, fields, received_at,
      pending, due_at) VALUES ${join(callbacks, ', ')}`;
  }

  /** The next moment, to the second that it was written with. */
  async function look(): Promise<DueShops> {
    const { shops, nextMs } = await store.findDue(FOLLOWED);
    return { shops, nextMs: shops.length > 0 || nextMs === null ? null : Math.ceil(nextMs / 500) * 500 };
  }

  test(`a look-up of due work finds each shop with a claimable bill, or when the next is due (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(bill, { maxLength: 8 }), refusals, async (bills, refused) => {
        await write(bills, refused);
        expect(await look()).toEqual(expected(bills, refused));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['which is followed', 'a'],
    ['which is not', 'of-another-instance'],
  ])('a look-up of due work sees other shops beside one %s with a large backlog', async (_what, busy) => {
    const free = { known: true, checkAfter: -10, leaseUntil: null, callbacks: [] };
    const backlog = Array.from({ length: MAX_DUE_BILLS + 1 }, () => ({ ...free, shop: busy, nextCheck: -50 }));
    const bills: BillAt[] = [
      ...backlog,
      { ...free, shop: 'b', nextCheck: -1 },
      { ...free, shop: 'c', nextCheck: null, callbacks: [-1] },
      { ...free, shop: 'd', nextCheck: 1 },
    ];
    await write(bills, {});
    expect(await look()).toEqual(expected(bills, {}));
  });
});
