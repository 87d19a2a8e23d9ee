import { Injectable } from '@nestjs/common';
import { maskCards } from '../common/redact.js';
import type { NewCallback } from './callback.store.js';
import { Database } from './database.js';
import { NOW } from './sql.js';

const CALLBACK = 'payment_acceptance.callback';

/** Whether what a stranger wrote is that of our bill. */
const AGREES = (own: string, told: string): string =>
  `CASE WHEN ${told} IS NULL THEN 'absent' WHEN ${told} = ${own} THEN 'match' ELSE 'mismatch' END`;

/** Of nearly all callbacks everything agrees: then nothing is made of it anew. */
const CORROBORATION = `CASE WHEN (t.told_order, t.amount, t.currency, t.custom) = (b.order_id, b.amount, b.currency, b.custom)
      THEN '{"order": "match", "amount": "match", "currency": "match", "custom": "match"}'::jsonb
      ELSE jsonb_build_object('order', ${AGREES('b.order_id', 't.told_order')},
        'amount', CASE WHEN t.amount = b.amount THEN 'match' ELSE 'mismatch' END,
        'currency', ${AGREES('b.currency', 't.currency')}, 'custom', ${AGREES('b.custom', 't.custom')}) END`;

/**
 * The common case of recording callbacks, many in one statement: their bill is known and far from its bound, and nothing in
 * them could be a card number. Whatever is not the common case is left out, for `CallbackStore.record`.
 */
@Injectable()
export class CallbackBatchStore {
  constructor(private readonly database: Database) {}

  /**
   * Stores those that it can with their corroboration, all or none, and commits. Gives their ids.
   * @param callbacks all with a bill's id, or all without one
   */
  async record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const rows = rowsOf(callbacks);
    if (rows.length === 0) return new Set();
    const statement = rows[0]?.bill === null ? BY_SERVICE_BILL_ID : BY_BILL_ID;
    const parameters = [this.database.offsetMs, JSON.stringify(rows), maxPerBill, rows.length];
    const [stored] = await this.database.atReadCommitted<{ ids: string | null }>(statement, parameters);
    return new Set(stored?.ids === null ? rows.map(({ id }) => id) : stored?.ids.split(' '));
  }
}

/**
 * Gives the ids of those that it has stored, or `null` for all: reading one for each takes longer. `LIMIT` keeps the
 * planner from reading the whole table of bills where it expects few.
 */
function insertion(bill: string): string {
  return `WITH stored AS (INSERT INTO ${CALLBACK} (id, kind, shop, bill_id, service_bill_id, order_id, status, digest,
      corroboration, fields, received_at, pending, due_at)
    SELECT t.id, t.kind, t.shop, b.id, t.service_bill, t.told_order, t.status, t.digest, ${CORROBORATION},
      t.fields, ${NOW} + t.nr * interval '1 microsecond', true, ${NOW}
    FROM json_to_recordset($2::json) AS t(nr int, place int, id uuid, kind text, shop text, bill uuid, service_bill text,
      told_order text, status text, digest text, amount numeric, currency text, custom text, fields jsonb)
    JOIN LATERAL (SELECT id, order_id, amount, currency, custom FROM payment_acceptance.bill WHERE ${bill} LIMIT 1) b ON true
    WHERE t.place + (SELECT count(*) FROM (SELECT FROM ${CALLBACK} c WHERE c.bill_id = b.id LIMIT $3::int) kept) <= $3::int
    RETURNING id)
    SELECT CASE WHEN count(*) < $4::int THEN coalesce(string_agg(id::text, ' '), '') END AS ids FROM stored`;
}

const BY_SERVICE_BILL_ID = insertion('shop = t.shop AND service_bill_id = t.service_bill');
const BY_BILL_ID = insertion('id = t.bill');

/** `nr`: in the order in which they came. `place`: among those of its bill. Sorted so that all write in the same order. */
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
    bill: callback.intentId,
    service_bill: callback.billId,
    told_order: callback.orderId,
    status: callback.status,
    digest: callback.digest,
    amount: callback.amount,
    currency: callback.currency,
    custom: callback.custom,
    fields: callback.fields,
  };
}

/** Only such texts are parameters: TypeORM logs these, and keeps them in its errors. */
function isCommon({ orderId, maskedOrderId: keptOrderId, currency, custom, forwarded }: NewCallback): boolean {
  return !forwarded && orderId === keptOrderId && isHarmless(currency) && isHarmless(custom);
}

function isHarmless(text: string | null): boolean {
  return text === null || maskCards(text) === text;
}
