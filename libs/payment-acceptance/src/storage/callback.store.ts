import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import type { DecimalAmount } from '../domain/money.js';
import { Database } from './database.js';
import { NOW } from './sql.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** A callback as it is kept: without its digest, without a full card number. */
export interface NewCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly shop: string;
  /** Our bill, where the callback's route to it is our own record (redirects); else it is found by `billId`. */
  readonly intentId: IntentId | null;
  /** `TrsId` of a postback. */
  readonly billId: BillId | null;
  /** The order that it names, to be compared with ours. */
  readonly orderId: OrderId;
  /** The same, as it is kept. */
  readonly maskedOrderId: string;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /** `OutSum` as an exact decimal(10,2); `null` where it is none, so that it agrees with no bill. */
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  readonly custom: string | null;
  /** Everything that came, redacted. */
  readonly fields: object;
  /** Another integration has accepted it. It waits for a bill all the same: its creation may not have been answered yet. */
  readonly forwarded?: boolean;
}

/**
 * What became of a callback: tied to a bill, kept without one, or not kept since too many of its kind wait already. `repeated`: its
 * bill has enough callbacks, and one that is still to be checked asks for the same, so there is no row of its own.
 */
export type Recorded = 'matched' | 'unmatched' | 'full' | 'repeated';

/** How many callbacks are kept. */
export interface RecordLimits {
  /** Of a shop, while they wait for a bill that is not known; and as many of those that another integration has accepted. */
  readonly maxUnmatched: number;
  /** Of a bill, beside those that wait for their answer. */
  readonly maxPerBill: number;
}

/**
 * What a stranger wrote is held against ours by its fingerprint: TypeORM logs the parameters of statements and keeps them
 * in its errors, and a full card number may be in it.
 */
const AGREES_HASHED = (own: string, told: string): string =>
  `CASE WHEN ${told} IS NULL THEN 'absent' WHEN ${told} = sha256(convert_to(${own}, 'UTF8')) THEN 'match' ELSE 'mismatch' END`;

/** Whether another integration has accepted a callback. */
const ACCEPTED_ELSEWHERE = `(callback.corroboration ->> 'forwarded' IS NOT DISTINCT FROM 'accepted')`;

/** As PostgreSQL reads bytes. */
function fingerprint(text: string | null): string | null {
  return text === null ? null : `\\x${hash('sha256', text, 'hex')}`;
}

/** What a postback asserts to have happened; a redirect, and an unknown status, assert nothing. */
export const ASSERTED_STATUS = (kind: string, status: string): string =>
  `CASE WHEN ${kind} = 'postback' AND ${status} IN ('SUCCESS', 'FAIL') THEN ${status} END`;

/** One row per callback received, as long as they are not too many. Recording never waits for a bill and never changes one. */
@Injectable()
export class CallbackStore {
  constructor(private readonly database: Database) {}

  /**
   * Stores a callback with its corroboration, and commits. Its row asks for a check of the bill.
   *
   * A bill that has `maxPerBill` of them gets another one only where none waits that asks for the same: one that no check
   * has been made for, and that the check which may be under way at this moment was not made for either, since that began
   * before it came (`check_after`). So a check that begins after the callback is certain, with a row of its own or without.
   * Its row then takes the place of a later one that has had its answer, or of two while there are more than that: the first
   * ones, and what was confirmed, stay.
   */
  async record(callback: NewCallback, { maxUnmatched, maxPerBill }: RecordLimits): Promise<Recorded> {
    const bill =
      callback.intentId !== null ? 'id = $5::uuid' : '$5::uuid IS NULL AND shop = $4 AND service_bill_id = $6';
    const [row] = await this.database.atReadCommitted<{ stored: boolean; matched: boolean; repeated: boolean }>(
      `WITH bill AS (
         SELECT * FROM payment_acceptance.bill WHERE ${bill}
       ), enough AS (
         SELECT count(*) >= $17::int AS yes, count(*) - $17::int + 1 AS surplus FROM (
           SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.bill_id = bill.id LIMIT $17::int + 1) kept
       ), repeated AS (
         SELECT 1 FROM bill JOIN payment_acceptance.callback c ON c.bill_id = bill.id
         WHERE (SELECT yes FROM enough) AND c.pending AND c.asks = 0 AND c.received_at <= ${NOW}
           AND (bill.lease_token IS NULL OR c.received_at > bill.check_after)
           AND coalesce(${ASSERTED_STATUS('$3', '$8')}, '') IN ('', ${ASSERTED_STATUS('c.kind', 'c.status')}) LIMIT 1
       ), replaced AS (
         DELETE FROM payment_acceptance.callback WHERE id IN (
           SELECT c.id FROM bill JOIN payment_acceptance.callback c ON c.bill_id = bill.id
           WHERE (SELECT yes FROM enough) AND NOT EXISTS (SELECT FROM repeated) AND NOT c.pending
           ORDER BY c.outcome IS NOT DISTINCT FROM 'confirmed', c.received_at DESC
           LIMIT (SELECT greatest(surplus, 0) FROM enough) FOR UPDATE OF c SKIP LOCKED)
       ), stored AS (
         INSERT INTO payment_acceptance.callback
           (id, kind, shop, bill_id, service_bill_id, order_id, status, digest, corroboration, fields, received_at, pending,
           due_at)
         SELECT $2, $3, $4, b.id, $6, $15, $8, $9,
           CASE WHEN b.id IS NULL AND $16::boolean THEN '{"forwarded":"accepted"}'::jsonb
             WHEN b.id IS NULL THEN '{}'::jsonb ELSE jsonb_build_object(
             'order', ${AGREES_HASHED('b.order_id', 'v.order_id')},
             'amount', CASE WHEN v.amount = b.amount THEN 'match' ELSE 'mismatch' END,
             'currency', ${AGREES_HASHED('b.currency', 'v.currency')}, 'custom', ${AGREES_HASHED('b.custom', 'v.custom')}) END,
           $13::jsonb, ${NOW}, true, ${NOW}
         FROM (SELECT $7::bytea AS order_id, $10::numeric AS amount, $11::bytea AS currency, $12::bytea AS custom) v
         LEFT JOIN bill b ON true
         WHERE CASE WHEN b.id IS NOT NULL THEN NOT EXISTS (SELECT FROM repeated)
           ELSE $14::int > (SELECT count(*) FROM (
             SELECT 1 FROM payment_acceptance.callback
             WHERE pending AND bill_id IS NULL AND shop = $4 AND ${ACCEPTED_ELSEWHERE} = $16::boolean
             LIMIT $14::int) waiting) END
         RETURNING bill_id
       )
       SELECT EXISTS (SELECT FROM stored) AS stored, EXISTS (SELECT FROM stored WHERE bill_id IS NOT NULL) AS matched,
         EXISTS (SELECT FROM repeated) AS repeated`,
      [
        this.database.offsetMs,
        callback.id,
        callback.kind,
        callback.shop,
        callback.intentId,
        callback.billId,
        fingerprint(callback.orderId),
        callback.status,
        callback.digest,
        callback.amount,
        fingerprint(callback.currency),
        fingerprint(callback.custom),
        JSON.stringify(callback.fields),
        maxUnmatched,
        callback.maskedOrderId,
        callback.forwarded === true,
        maxPerBill,
      ],
    );
    if (row?.repeated) return 'repeated';
    if (!row?.stored) return 'full';
    if (row.matched) return 'matched';
    return (await this.linkLate(callback.id)) ? 'matched' : 'unmatched';
  }

  /** Whether a bill of the shop has this id at the service. */
  async isOfOwnBill(shop: string, billId: BillId): Promise<boolean> {
    const own = await this.database.query(
      `SELECT 1 FROM payment_acceptance.bill WHERE shop = $1 AND service_bill_id = $2`,
      [shop, billId],
    );
    return own.length > 0;
  }

  /** Where the trace of a callback's bill goes on; `null` where it has none. */
  async traceOf(id: string): Promise<string | null> {
    const [row] = await this.database.query<{ traceparent: string | null }>(
      `SELECT b.traceparent FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
       WHERE c.id = $1`,
      [id],
    );
    return row?.traceparent ?? null;
  }

  /**
   * Gives up waiting for the bills of callbacks that came long ago: of postbacks whose bill is not known, and of redirects
   * whose bill never got an id at the service. They make room, and stay recorded. A bill that is attached or imported
   * after that is checked at once anyway.
   */
  async retireWaiting(afterMs: number): Promise<void> {
    const long = `c.received_at < ${NOW} - $2::double precision * interval '1 millisecond'`;
    for (const waiting of [
      `payment_acceptance.callback c WHERE c.pending AND c.bill_id IS NULL`,
      `payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
       WHERE c.pending AND c.bill_id IS NOT NULL AND b.service_bill_id IS NULL`,
    ]) {
      await this.database.query(
        `UPDATE payment_acceptance.callback SET pending = false, consumed_at = ${NOW}
         WHERE id IN (SELECT c.id FROM ${waiting} AND ${long} LIMIT 1000 FOR UPDATE OF c SKIP LOCKED)`,
        [this.database.offsetMs, afterMs],
      );
    }
  }

  /**
   * The bill may have been opened between our look at it and our commit. A creation opens, commits, then links what
   * waits; a callback commits, then looks again: whichever is later sees the other.
   */
  private async linkLate(id: string): Promise<boolean> {
    const linked = await this.database.query(
      `UPDATE payment_acceptance.callback c SET bill_id = b.id FROM payment_acceptance.bill b
       WHERE c.id = $1 AND c.bill_id IS NULL AND b.shop = c.shop AND b.service_bill_id = c.service_bill_id
       RETURNING c.id`,
      [id],
    );
    return linked.length > 0;
  }
}
