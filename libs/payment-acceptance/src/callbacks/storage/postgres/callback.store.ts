import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { assertedStatus } from '../assertion.js';
import { comparedFields, keptFields } from '../redaction.js';
import {
  CallbackStore,
  type NewCallback,
  type OpenedBill,
  type Recorded,
  type RecordLimits,
} from '../callback.store.js';
import { flag, type Reading } from '../../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

/**
 * Compares a value of the callback with ours by its hash: TypeORM logs the parameters of statements and keeps them in its
 * errors, and the value may contain a full card number.
 */
function agreesHashed(own: Expression, told: Expression): Statement {
  return sql`CASE WHEN ${toSql(told)} IS NULL THEN 'absent'
    WHEN ${toSql(told)} = sha256(convert_to(${toSql(own)}, 'UTF8')) THEN 'match' ELSE 'mismatch' END`;
}

/** A SHA-256 hash, in PostgreSQL's notation of bytes. */
function fingerprint(text: string | null): string | null {
  return text === null ? null : `\\x${hash('sha256', text, 'hex')}`;
}

const GIVEN = [
  'offsetMs',
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

type Given = Readonly<Record<(typeof GIVEN)[number], Statement>>;

/** See `CallbackStore.record`. @param billOf the condition that selects the callback's bill */
const recording = (billOf: (given: Given) => Statement) =>
  prepare(GIVEN, (given) => {
    const now = postgres.now(given.offsetMs);
    return sql`WITH bill AS (
         SELECT * FROM payment_acceptance.bill WHERE ${billOf(given)}
       ), enough AS (
         SELECT count(*) >= ${given.maxPerBill}::int AS yes, count(*) - ${given.maxPerBill}::int + 1 AS surplus FROM (
           SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.intent_id = bill.intent_id
           LIMIT ${given.maxPerBill}::int + 1) kept
       ), repeated AS (
         SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.intent_id = bill.intent_id
         WHERE (SELECT yes FROM enough) AND c.pending AND c.asks = 0 AND c.received_at <= ${now}
           AND (bill.lease_token IS NULL OR c.received_at > bill.check_after)
           AND coalesce(${assertedStatus(given.kind, given.status)}, '')
             IN ('', ${assertedStatus('c.kind', 'c.status')}) LIMIT 1
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
         SELECT ${given.id}, ${given.kind}, ${given.shop}, b.intent_id, ${given.billId}, ${given.maskedOrderId}, ${given.status},
           ${given.digest},
           CASE WHEN b.intent_id IS NULL THEN '{}'::jsonb ELSE ${comparedFields(sql`jsonb_build_object(
             'order', ${agreesHashed('b.order_id', 'v.order_id')},
             'amount', CASE WHEN v.amount = b.amount THEN 'match' ELSE 'mismatch' END,
             'currency', ${agreesHashed('b.currency', 'v.currency')}, 'custom', ${agreesHashed('b.custom', 'v.custom')})`)} END,
           ${keptFields(sql`${given.fields}::jsonb`)}, ${now}, true, ${now}
         FROM (SELECT ${given.orderHash}::bytea AS order_id, ${given.amount}::numeric AS amount,
           ${given.currencyHash}::bytea AS currency, ${given.customHash}::bytea AS custom) v
         LEFT JOIN bill b ON true
         WHERE CASE WHEN b.intent_id IS NOT NULL THEN NOT EXISTS (SELECT FROM repeated)
           ELSE ${given.maxUnmatched}::int > (SELECT count(*) FROM (
             SELECT 1 FROM payment_acceptance.callback
             WHERE pending AND intent_id IS NULL AND shop = ${given.shop}
             LIMIT ${given.maxUnmatched}::int) waiting) END
         RETURNING intent_id
       )
       SELECT EXISTS (SELECT FROM stored) AS stored, EXISTS (SELECT FROM stored WHERE intent_id IS NOT NULL) AS matched,
         EXISTS (SELECT FROM repeated) AS repeated`;
  });

const RECORD_BY_INTENT_ID = recording(({ intentId }) => sql`intent_id = ${intentId}::uuid`);

/** Mentions `intentId` only because PostgreSQL needs to know the type of every parameter. */
const RECORD_BY_BILL_ID = recording(
  ({ intentId, shop, billId }) => sql`${intentId}::uuid IS NULL AND shop = ${shop} AND bill_id = ${billId}`,
);

const RECORDED: Reading<{ stored: boolean; matched: boolean; repeated: boolean }> = {
  stored: flag,
  matched: flag,
  repeated: flag,
};

/** See `CallbackStore.linkWaiting`. */
const LINK_WAITING = prepare(
  ['intentId', 'shop', 'billId'],
  ({ intentId, shop, billId }) => sql`UPDATE payment_acceptance.callback SET intent_id = ${intentId}
       WHERE shop = ${shop} AND bill_id = ${billId} AND pending AND intent_id IS NULL`,
);

@Injectable()
export class PostgresCallbackStore extends CallbackStore {
  constructor(protected override readonly database: PostgresDatabase) {
    super(database);
  }

  override async record(callback: NewCallback, { maxUnmatched, maxPerBill }: RecordLimits): Promise<Recorded> {
    const { id, kind, shop, intentId, billId, maskedOrderId, status, digest, amount } = callback;
    const [row] = await this.database.executeAtReadCommitted(
      intentId === null ? RECORD_BY_BILL_ID : RECORD_BY_INTENT_ID,
      {
        offsetMs: this.database.offsetMs,
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
      RECORDED,
    );
    if (row?.repeated) return 'repeated';
    if (!row?.stored) return 'full';
    if (row.matched) return 'matched';
    return (await this.linkLate(id)) ? 'matched' : 'unmatched';
  }

  override async linkWaiting({ intentId, shop, billId }: OpenedBill): Promise<void> {
    await this.database.execute(LINK_WAITING, { intentId, shop, billId }, {});
  }

  /**
   * The bill may have been opened between our read and our commit. A creation opens, commits, then links waiting callbacks;
   * a callback commits, then looks for its bill again: whichever is later sees the other.
   */
  private async linkLate(id: string): Promise<boolean> {
    const linked = await this.database.change(
      sql`UPDATE payment_acceptance.callback c SET intent_id = b.intent_id FROM payment_acceptance.bill b
       WHERE c.id = ${id} AND c.intent_id IS NULL AND b.shop = c.shop AND b.bill_id = c.bill_id`,
    );
    return linked > 0;
  }
}
