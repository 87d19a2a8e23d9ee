import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { DecimalAmount } from '../common/money.js';
import { Database, NOW } from './database.js';

export type CallbackKind = 'redirect-success' | 'redirect-fail' | 'postback';
export type DigestCheck = 'match' | 'mismatch' | 'absent';

/** A callback as it is kept: without its digest, without a full card number. */
export interface NewCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly shop: string;
  /** Our bill, where the callback's route to it is our own record (redirects); else it is found by `serviceBillId`. */
  readonly billId: string | null;
  /** `TrsId` of a postback. */
  readonly serviceBillId: string | null;
  /** The order that it names, to be compared with ours. */
  readonly orderId: string;
  /** The same, as it is kept. */
  readonly keptOrderId: string;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /** `OutSum` as an exact decimal(10,2); `null` where it is none, so that it agrees with no bill. */
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  readonly custom: string | null;
  /** Everything that came, redacted. */
  readonly fields: object;
  /** Another integration has accepted it: unless its bill turns out to be ours, it waits for none. */
  readonly forwarded?: boolean;
}

/** What became of a callback: tied to a bill, kept without one, or turned away since too many wait already. */
export type Recorded = 'matched' | 'unmatched' | 'full';

/**
 * What a stranger wrote is held against ours by its fingerprint: TypeORM logs the parameters of statements and keeps them
 * in its errors, and a full card number may be in it.
 */
const AGREES = (own: string, told: string): string =>
  `CASE WHEN ${told} IS NULL THEN 'absent' WHEN ${told} = sha256(convert_to(${own}, 'UTF8')) THEN 'match' ELSE 'mismatch' END`;

function fingerprint(text: string | null): Buffer | null {
  return text === null ? null : createHash('sha256').update(text, 'utf8').digest();
}

/** One row per callback received. Recording never waits for a bill and never changes one. */
@Injectable()
export class CallbackStore {
  constructor(private readonly database: Database) {}

  /** Stores a callback with its corroboration, and commits. Its row asks for a check of the bill. */
  async record(callback: NewCallback, maxUnmatched: number): Promise<Recorded> {
    const bill = callback.billId !== null ? 'b.id = $5::uuid' : 'b.shop = $4 AND b.service_bill_id = $6';
    const [row] = await this.database.query<{ billId: string | null }>(
      `INSERT INTO payment_acceptance.callback
         (id, kind, shop, bill_id, service_bill_id, order_id, status, digest, corroboration, fields, received_at, pending,
         consumed_at, due_at)
       SELECT $2, $3, $4, b.id, $6, $15, $8, $9,
         CASE WHEN b.id IS NULL AND $16::boolean THEN '{"forwarded":"accepted"}'::jsonb
           WHEN b.id IS NULL THEN '{}'::jsonb ELSE jsonb_build_object(
           'order', ${AGREES('b.order_id', 'v.order_id')},
           'amount', CASE WHEN v.amount = b.amount THEN 'match' ELSE 'mismatch' END,
           'currency', ${AGREES('b.currency', 'v.currency')}, 'custom', ${AGREES('b.custom', 'v.custom')}) END,
         $13::jsonb, ${NOW}, b.id IS NOT NULL OR NOT $16::boolean,
         CASE WHEN b.id IS NULL AND $16::boolean THEN ${NOW} END, ${NOW}
       FROM (SELECT $5::uuid AS bill_id, $7::bytea AS order_id, $10::numeric AS amount, $11::bytea AS currency,
         $12::bytea AS custom) v
       LEFT JOIN payment_acceptance.bill b ON ${bill}
       WHERE b.id IS NOT NULL OR $16::boolean OR $14::int > (SELECT count(*) FROM (
         SELECT 1 FROM payment_acceptance.callback WHERE pending AND bill_id IS NULL AND shop = $4
         LIMIT $14::int) waiting)
       RETURNING bill_id AS "billId"`,
      [
        this.database.offsetMs,
        callback.id,
        callback.kind,
        callback.shop,
        callback.billId,
        callback.serviceBillId,
        fingerprint(callback.orderId),
        callback.status,
        callback.digest,
        callback.amount,
        fingerprint(callback.currency),
        fingerprint(callback.custom),
        JSON.stringify(callback.fields),
        maxUnmatched,
        callback.keptOrderId,
        callback.forwarded === true,
      ],
    );
    if (!row) return 'full';
    if (row.billId !== null) return 'matched';
    return (await this.linkLate(callback.id)) ? 'matched' : 'unmatched';
  }

  /** Whether a bill of the shop has this id at the service. */
  async isOfOwnBill(shop: string, serviceBillId: string): Promise<boolean> {
    const own = await this.database.query(
      `SELECT 1 FROM payment_acceptance.bill WHERE shop = $1 AND service_bill_id = $2`,
      [shop, serviceBillId],
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

  /** Gives up waiting for the bills of postbacks that came long ago: they make room, and stay recorded. */
  async retireUnmatched(afterMs: number): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.callback SET pending = false, consumed_at = ${NOW}
       WHERE id IN (SELECT id FROM payment_acceptance.callback WHERE pending AND bill_id IS NULL
         AND received_at < ${NOW} - $2::double precision * interval '1 millisecond' LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [this.database.offsetMs, afterMs],
    );
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
