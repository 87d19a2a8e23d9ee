import { hash } from 'node:crypto';
import {
  expectedStatus,
  CallbackStore,
  type NewCallback,
  type OpenedBill,
  type RecordResult,
  type RecordLimits,
  corroborationUnlessRedacted,
  fieldsUnlessRedacted,
} from '../callback.store.js';
import { flag, type ColumnReaders } from '../../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';
import { maskCards } from '../../../common/redact.js';
import { recordSet } from '../../../database/postgres/planner.js';

/**
 * Compares by hash: the error of a statement keeps its parameters, and the callback's value may contain a full card
 * number.
 */
function compareHashes(billValue: Expression, callbackValue: Expression): Statement {
  return sql`CASE WHEN ${toSql(callbackValue)} IS NULL THEN 'absent'
    WHEN ${toSql(callbackValue)} = sha256(convert_to(${toSql(billValue)}, 'UTF8')) THEN 'match' ELSE 'mismatch' END`;
}

/** Hashes in PostgreSQL's hex format for `bytea`. */
function fingerprint(text: string | null): string | null {
  return text === null ? null : `\\x${hash('sha256', text, 'hex')}`;
}

const RECORD_PARAMETERS = [
  'id',
  'kind',
  'shop',
  'intentId',
  'billId',
  'orderHash',
  'status',
  'digest',
  'amount',
  'currencyHash',
  'customHash',
  'fields',
  'maxUnmatched',
  'maskedOrderId',
  'maxPerBill',
] as const;

type RecordParameters = Readonly<Record<(typeof RECORD_PARAMETERS)[number], Statement>>;

/** @param billOf the condition that selects the callback's bill */
const prepareRecord = (billOf: (parameters: RecordParameters) => Statement) =>
  prepare(
    RECORD_PARAMETERS,
    (parameters, now) => sql`WITH bill AS (
         SELECT * FROM payment_acceptance.bill WHERE ${billOf(parameters)}
       ), enough AS (
         SELECT count(*) >= ${parameters.maxPerBill}::int AS yes, count(*) - ${parameters.maxPerBill}::int + 1 AS surplus FROM (
           SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.intent_id = bill.intent_id
           LIMIT ${parameters.maxPerBill}::int + 1) kept
       ), repeated AS (
         SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.intent_id = bill.intent_id
         WHERE (SELECT yes FROM enough) AND c.pending AND c.asks = 0 AND c.received_at <= ${now}
           AND (bill.lease_token IS NULL OR c.received_at > bill.check_after)
           AND coalesce(${expectedStatus(parameters.kind, parameters.status)}, '')
             IN ('', ${expectedStatus('c.kind', 'c.status')}) LIMIT 1
       ), replaced AS (
         DELETE FROM payment_acceptance.callback WHERE id IN (
           SELECT c.id FROM bill JOIN payment_acceptance.callback c ON c.intent_id = bill.intent_id
           WHERE (SELECT yes FROM enough) AND NOT EXISTS (SELECT FROM repeated) AND NOT c.pending
           ORDER BY c.outcome IS NOT DISTINCT FROM 'confirmed', c.received_at DESC
           LIMIT (SELECT greatest(surplus, 0) FROM enough) FOR UPDATE OF c SKIP LOCKED)
       ), stored AS (
         INSERT INTO payment_acceptance.callback
           (id, kind, shop, intent_id, bill_id, order_id, status, digest, corroboration, fields, received_at, pending,
           due_at)
         SELECT ${parameters.id}, ${parameters.kind}, ${parameters.shop}, b.intent_id, ${parameters.billId}, ${parameters.maskedOrderId}, ${parameters.status},
           ${parameters.digest},
           CASE WHEN b.intent_id IS NULL THEN '{}'::jsonb ELSE ${corroborationUnlessRedacted(sql`jsonb_build_object(
             'order', ${compareHashes('b.order_id', 'v.order_id')},
             'amount', ${compareValues('b.amount', 'v.amount')},
             'currency', ${compareHashes('b.currency', 'v.currency')}, 'custom', ${compareHashes('b.custom', 'v.custom')})`)} END,
           ${fieldsUnlessRedacted(sql`${parameters.fields}::jsonb`)}, ${now}, true, ${now}
         FROM (SELECT ${parameters.orderHash}::bytea AS order_id, ${parameters.amount}::numeric AS amount,
           ${parameters.currencyHash}::bytea AS currency, ${parameters.customHash}::bytea AS custom) v
         LEFT JOIN bill b ON true
         WHERE CASE WHEN b.intent_id IS NOT NULL THEN NOT EXISTS (SELECT FROM repeated)
           ELSE ${parameters.maxUnmatched}::int > (SELECT count(*) FROM (
             SELECT 1 FROM payment_acceptance.callback
             WHERE pending AND intent_id IS NULL AND shop = ${parameters.shop}
             LIMIT ${parameters.maxUnmatched}::int) waiting) END
         RETURNING intent_id
       )
       SELECT EXISTS (SELECT FROM stored) AS stored, EXISTS (SELECT FROM stored WHERE intent_id IS NOT NULL) AS matched,
         EXISTS (SELECT FROM repeated) AS repeated`,
  );

const RECORD_BY_INTENT_ID = prepareRecord(({ intentId }) => sql`intent_id = ${intentId}::uuid`);

/** Mentions `intentId` only because PostgreSQL needs to know the type of every parameter. */
const RECORD_BY_BILL_ID = prepareRecord(
  ({ intentId, shop, billId }) => sql`${intentId}::uuid IS NULL AND shop = ${shop} AND bill_id = ${billId}`,
);

const RECORD_RESULT_READERS: ColumnReaders<{ stored: boolean; matched: boolean; repeated: boolean }> = {
  stored: flag,
  matched: flag,
  repeated: flag,
};

const LINK_WAITING = prepare(
  ['intentId', 'shop', 'billId'],
  ({ intentId, shop, billId }) => sql`UPDATE payment_acceptance.callback SET intent_id = ${intentId}
       WHERE shop = ${shop} AND bill_id = ${billId} AND pending AND intent_id IS NULL`,
);

function compareValues(billValue: Expression, callbackValue: Expression): Statement {
  return sql`CASE WHEN ${toSql(callbackValue)} IS NULL THEN 'absent'
    WHEN ${toSql(callbackValue)} = ${toSql(billValue)} THEN 'match' ELSE 'mismatch' END`;
}

/** In nearly all callbacks everything matches: a constant then saves building the object. */
const CORROBORATION = sql`CASE WHEN (t.told_order, t.amount, t.currency, t.custom) = (b.order_id, b.amount, b.currency, b.custom)
      THEN '{"order": "match", "amount": "match", "currency": "match", "custom": "match"}'::jsonb
      ELSE ${corroborationUnlessRedacted(sql`jsonb_build_object('order', ${compareValues('b.order_id', 't.told_order')},
        'amount', ${compareValues('b.amount', 't.amount')},
        'currency', ${compareValues('b.currency', 't.currency')}, 'custom', ${compareValues('b.custom', 't.custom')})`)} END`;

/**
 * Returns the ids of the stored callbacks, or `null` if all were stored: returning each id would take longer. `LIMIT`
 * keeps the planner from scanning the whole table of bills when it believes it to be small.
 */
const prepareInsert = (bill: Statement) =>
  prepare(['rows', 'maxPerBill', 'count'], ({ rows, maxPerBill, count }, now) => {
    return sql`WITH stored AS (INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id,
      status, digest, corroboration, fields, received_at, pending, due_at)
    SELECT t.id, t.kind, t.shop, b.intent_id, t.bill_id, t.told_order, t.status, t.digest, ${CORROBORATION},
      ${fieldsUnlessRedacted('t.fields')}, ${now} + t.nr * interval '1 microsecond', true, ${now}
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
  override async record(callback: NewCallback, { maxUnmatched, maxPerBill }: RecordLimits): Promise<RecordResult> {
    const { id, kind, shop, intentId, billId, maskedOrderId, status, digest, amount } = callback;
    const [row] = await this.database.executeAtReadCommitted(
      intentId === null ? RECORD_BY_BILL_ID : RECORD_BY_INTENT_ID,
      {
        id,
        kind,
        shop,
        intentId,
        billId,
        orderHash: fingerprint(callback.orderId),
        status,
        digest,
        amount,
        currencyHash: fingerprint(callback.currency),
        customHash: fingerprint(callback.custom),
        fields: JSON.stringify(callback.fields),
        maxUnmatched,
        maskedOrderId,
        maxPerBill,
      },
      RECORD_RESULT_READERS,
    );
    if (row?.repeated) return 'repeated';
    if (!row?.stored) return 'full';
    if (row.matched) return 'matched';
    return (await this.linkLate(callback)) ? 'matched' : 'unmatched';
  }

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
