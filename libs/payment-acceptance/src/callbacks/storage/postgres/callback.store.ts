import { CallbackStore, type OpenedBill } from '../callback.store.js';
import type { NewCallback } from '../stored-callback.js';
import type { ColumnReaders } from '../../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';
import { maskCards } from '../../../common/redact.js';
import { recordSet } from '../../../database/postgres/planner.js';

const LINK_WAITING = prepare(
  ['intentId', 'shop', 'billId'],
  (
    { intentId, shop, billId },
    now,
  ) => sql`UPDATE payment_acceptance.callback SET intent_id = ${intentId}, due_at = ${now}
       WHERE shop = ${shop} AND bill_id = ${billId} AND pending AND intent_id IS NULL`,
);

function compareValues(billValue: Expression, callbackValue: Expression): Statement {
  return sql`CASE WHEN ${toSql(callbackValue)} IS NULL THEN 'absent'
    WHEN ${toSql(callbackValue)} = ${toSql(billValue)} THEN 'match' ELSE 'mismatch' END`;
}

/**
 * In nearly all callbacks everything matches: a constant then saves building the object. Omits `custom` if the bill's own
 * `custom` has been removed, which leaves nothing to compare with.
 */
const CORROBORATION = sql`CASE WHEN (t.told_order, t.amount, t.currency, t.custom) = (b.order_id, b.amount, b.currency, b.custom)
      THEN '{"order": "match", "amount": "match", "currency": "match", "custom": "match"}'::jsonb
      ELSE (jsonb_build_object('order', ${compareValues('b.order_id', 't.told_order')},
        'amount', ${compareValues('b.amount', 't.amount')},
        'currency', ${compareValues('b.currency', 't.currency')}, 'custom', ${compareValues('b.custom', 't.custom')})
        - CASE WHEN b.redacted_at IS NOT NULL AND b.custom_given THEN 'custom' ELSE '' END) END`;

/**
 * Returns the ids of the stored callbacks, or `null` if all were stored: returning each id would take longer. `LIMIT`
 * keeps the planner from scanning the whole table of bills when it believes it to be small.
 */
const prepareInsert = (bill: Statement) =>
  prepare(['rows', 'maxPerBill', 'count'], ({ rows, maxPerBill, count }, now) => {
    return sql`WITH stored AS (INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id,
      status, digest, corroboration, fields, received_at, pending, due_at)
    SELECT t.id, t.kind, t.shop, b.intent_id, t.bill_id, t.told_order, t.status, t.digest, ${CORROBORATION},
      CASE WHEN b.redacted_at IS NULL THEN t.fields ELSE '{}'::jsonb END, ${now} + t.nr * interval '1 microsecond', true, ${now}
    FROM ${recordSet(rows)} AS t(nr int, place int, id uuid, kind text, shop text, intent_id uuid, bill_id text,
      told_order text, status text, digest text, amount numeric, currency text, custom text, fields jsonb)
    JOIN LATERAL (SELECT intent_id, order_id, amount, currency, custom, custom_given, redacted_at FROM payment_acceptance.bill WHERE ${bill} LIMIT 1) b ON true
    WHERE t.place + (SELECT count(*) FROM (
      SELECT FROM payment_acceptance.callback c WHERE c.intent_id = b.intent_id LIMIT ${maxPerBill}::int) kept) <= ${maxPerBill}::int
    RETURNING id)
    SELECT CASE WHEN count(*) < ${count}::int THEN coalesce(string_agg(id::text, ' '), '') END AS ids FROM stored`;
  });

const INSERT_BY_BILL_ID = prepareInsert(sql`shop = t.shop AND bill_id = t.bill_id`);
const INSERT_BY_INTENT_ID = prepareInsert(sql`intent_id = t.intent_id`);

const STORED_READERS: ColumnReaders<{ ids: string[] | null }> = { ids: (value) => String(value).split(' ') };

export class PostgresCallbackStore extends CallbackStore<PostgresDatabase> {
  /** Also leaves out callbacks that may contain a card number. */
  override async recordMany(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const rows = rowsOf(callbacks);
    if (rows.length === 0) return new Set();
    const [stored] = await this.database.executeAtReadCommitted(
      rows[0]?.intent_id === null ? INSERT_BY_BILL_ID : INSERT_BY_INTENT_ID,
      { rows: JSON.stringify(rows), maxPerBill, count: rows.length },
      STORED_READERS,
    );
    return new Set(stored?.ids === null ? rows.map(({ id }) => id) : stored?.ids);
  }

  override async linkWaiting({ intentId, shop, billId }: OpenedBill): Promise<void> {
    await this.database.execute(LINK_WAITING, { intentId, shop, billId }, {});
  }
}

/**
 * `nr` is the order of arrival, `place` the position within the bill. Sorted, so that all instances write in the same
 * order.
 */
function rowsOf(callbacks: readonly NewCallback[]) {
  const places = new Map<string, number>();
  const rows = callbacks.filter(isCommon).map((callback, nr) => {
    const key = callback.intentId ?? `${callback.shop} ${callback.billId ?? ''}`;
    const place = (places.get(key) ?? 0) + 1;
    places.set(key, place);
    return { key, row: rowOf(callback, nr, place) };
  });
  rows.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.row.nr - b.row.nr));
  return rows.map(({ row }) => row);
}

function rowOf(callback: NewCallback, nr: number, place: number) {
  return {
    nr,
    place,
    id: callback.id,
    kind: callback.kind,
    shop: callback.shop,
    intent_id: callback.intentId,
    bill_id: callback.billId,
    told_order: callback.orderId,
    status: callback.status,
    digest: callback.digest,
    amount: callback.amount,
    currency: callback.currency,
    custom: callback.custom,
    fields: callback.fields,
  };
}

/** Whether the callback's texts may become parameters of a statement, whose error keeps them. */
function isCommon({ orderId, maskedOrderId: keptOrderId, currency, custom }: NewCallback): boolean {
  return orderId === keptOrderId && isHarmless(currency) && isHarmless(custom);
}

function isHarmless(text: string | null): boolean {
  return text === null || maskCards(text) === text;
}
