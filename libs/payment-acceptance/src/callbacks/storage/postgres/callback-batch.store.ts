import { Injectable } from '@nestjs/common';
import { maskCards } from '../../../common/redact.js';
import type { CallbackBatchStore } from '../callback-batch.store.js';
import type { NewCallback } from '../callback.store.js';
import { comparedFields, keptFields } from '../redaction.js';
import type { Reading } from '../../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { recordSet } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

/** Compares a value of the callback with that of our bill. */
function agrees(own: Expression, told: Expression): Statement {
  return sql`CASE WHEN ${toSql(told)} IS NULL THEN 'absent'
    WHEN ${toSql(told)} = ${toSql(own)} THEN 'match' ELSE 'mismatch' END`;
}

/** In nearly all callbacks everything matches: a constant then saves building the object. */
const CORROBORATION = sql`CASE WHEN (t.told_order, t.amount, t.currency, t.custom) = (b.order_id, b.amount, b.currency, b.custom)
      THEN '{"order": "match", "amount": "match", "currency": "match", "custom": "match"}'::jsonb
      ELSE ${comparedFields(sql`jsonb_build_object('order', ${agrees('b.order_id', 't.told_order')},
        'amount', CASE WHEN t.amount = b.amount THEN 'match' ELSE 'mismatch' END,
        'currency', ${agrees('b.currency', 't.currency')}, 'custom', ${agrees('b.custom', 't.custom')})`)} END`;

/**
 * Returns the ids of the stored callbacks, or `null` if all were stored: returning each id would take longer. `LIMIT` keeps
 * the planner from scanning the whole table of bills when it believes it to be small.
 */
const insertion = (bill: Statement) =>
  prepare(['offsetMs', 'rows', 'maxPerBill', 'count'], ({ offsetMs, rows, maxPerBill, count }) => {
    const now = postgres.now(offsetMs);
    return sql`WITH stored AS (INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id,
      status, digest, corroboration, fields, received_at, pending, due_at)
    SELECT t.id, t.kind, t.shop, b.intent_id, t.bill_id, t.told_order, t.status, t.digest, ${CORROBORATION},
      ${keptFields('t.fields')}, ${now} + t.nr * interval '1 microsecond', true, ${now}
    FROM ${recordSet(rows)} AS t(nr int, place int, id uuid, kind text, shop text, intent_id uuid, bill_id text,
      told_order text, status text, digest text, amount numeric, currency text, custom text, fields jsonb)
    JOIN LATERAL (SELECT intent_id, order_id, amount, currency, custom, custom_given, redacted_at FROM payment_acceptance.bill WHERE ${bill} LIMIT 1) b ON true
    WHERE t.place + (SELECT count(*) FROM (
      SELECT FROM payment_acceptance.callback c WHERE c.intent_id = b.intent_id LIMIT ${maxPerBill}::int) kept) <= ${maxPerBill}::int
    RETURNING id)
    SELECT CASE WHEN count(*) < ${count}::int THEN coalesce(string_agg(id::text, ' '), '') END AS ids FROM stored`;
  });

const BY_BILL_ID = insertion(sql`shop = t.shop AND bill_id = t.bill_id`);
const BY_INTENT_ID = insertion(sql`intent_id = t.intent_id`);

const STORED: Reading<{ ids: string[] | null }> = { ids: (value) => String(value).split(' ') };

/** Records in one statement. Also leaves out callbacks that may contain a card number. */
@Injectable()
export class PostgresCallbackBatchStore implements CallbackBatchStore {
  constructor(private readonly database: PostgresDatabase) {}

  async record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const rows = rowsOf(callbacks);
    if (rows.length === 0) return new Set();
    const [stored] = await this.database.executeAtReadCommitted(
      rows[0]?.intent_id === null ? BY_BILL_ID : BY_INTENT_ID,
      { offsetMs: this.database.offsetMs, rows: JSON.stringify(rows), maxPerBill, count: rows.length },
      STORED,
    );
    return new Set(stored?.ids === null ? rows.map(({ id }) => id) : stored?.ids);
  }
}

/** `nr` is the order of arrival, `place` the position within the bill. Sorted, so that all instances write in the same order. */
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

/** Whether its texts may become parameters, which TypeORM logs and keeps in its errors. */
function isCommon({ orderId, maskedOrderId: keptOrderId, currency, custom }: NewCallback): boolean {
  return orderId === keptOrderId && isHarmless(currency) && isHarmless(custom);
}

function isHarmless(text: string | null): boolean {
  return text === null || maskCards(text) === text;
}
