import type { CallbackKind, DigestCheck } from '../../domain/callback.js';
import type { DecimalAmount } from '../../domain/money.js';
import type { Database } from '../../database/database.js';
import { sql, toSql, type Expression, type Statement } from '../../database/statement.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { NamedBill } from './named-bill.store.js';
import type { Redactable } from '../../database/redactable.js';

/** A callback as it is stored: with the result of checking its digest, but without the digest itself or a full card number. */
export interface NewCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly shop: string;
  /** Our bill, if our own records identify it (redirects); otherwise the bill is found by `billId`. */
  readonly intentId: IntentId | null;
  /** `TrsId` of a postback. */
  readonly billId: BillId | null;
  /** The order that it names, to be compared with ours; not stored. */
  readonly orderId: OrderId | null;
  /** The order that it names, as it is stored: with card numbers masked. */
  readonly maskedOrderId: string | null;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /** `OutSum` as an exact decimal(10,2); `0`, which no bill has, if it cannot be read; `null` if absent. */
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  readonly custom: string | null;
  readonly fields: object;
}

/**
 * A callback is linked to a bill, stored without one, or rejected because too many of its kind already wait.
 * `repeated`: its bill has enough callbacks, and a pending one requests the same check, so it got no row of its own.
 */
export type RecordResult = 'matched' | 'unmatched' | 'full' | 'repeated';

export type OpenedBill = Pick<NamedBill, 'intentId' | 'shop' | 'billId'>;

export interface RecordLimits {
  /** Per shop, while they wait for an unknown bill. With 0, none is stored, and those that wait are not counted. */
  readonly maxUnmatched: number;
  /** Per bill, in addition to those that wait for their check. */
  readonly maxPerBill: number;
}

/** How long a callback waits for a bill that cannot be checked. */
export interface WaitingLimits {
  readonly unmatchedMs: number;
  /** For a bill without an id at the service. */
  readonly unnamedMs: number;
}

const LINK_BATCH_SIZE = 1_000;

const START_POSITION = { shop: '', billId: '' };

/** One row per received callback, within limits. Recording never waits for a bill and never changes one. */
export abstract class CallbackStore<D extends Database = Database> {
  private lastPosition: Pick<OpenedBill, 'shop' | 'billId'> = START_POSITION;

  constructor(protected readonly database: D) {}

  /**
   * Stores a callback with its corroboration, and commits. Its row requests a check of the bill.
   *
   * Once a bill has `maxPerBill` callbacks, a new one gets a row only if no pending callback already requests the same
   * check. A pending callback counts only if no check covers it yet: either no check is in flight, or the callback came
   * after the one in flight began (`check_after`). So, with or without a row of its own, the new callback is always
   * followed by a check. A new row replaces the latest answered rows beyond the limit; the earliest rows and confirmed
   * ones are kept longest.
   */
  abstract record(callback: NewCallback, limits: RecordLimits): Promise<RecordResult>;

  /**
   * The fast path for many callbacks at once: stores those whose bill is known and below its limit in one commit, and
   * returns their ids. All others are left to {@link record}.
   * @param callbacks all with an `intentId`, or all without one
   */
  abstract recordMany(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>>;

  /**
   * Links postbacks that came before the creation's answer to their bill. Call it after the opening of the bill has
   * committed: `record` looks for the bill once more after its own commit, so that whichever is later sees the other.
   */
  abstract linkWaiting(bill: OpenedBill): Promise<void>;

  /**
   * Links postbacks whose bill was opened by an instance that ended before it could link them. Until then, each waits
   * for its bill's next scheduled check, and takes one of the places for unknown bills. Each call looks at the next
   * {@link LINK_BATCH_SIZE} bills.
   */
  async linkForgotten(): Promise<void> {
    const { shop, billId } = this.lastPosition;
    const bills = await this.database.rows<Omit<OpenedBill, 'intentId'> & { readonly intentId: IntentId | null }>({})`
      SELECT (SELECT ${this.database.dialect.text('b.intent_id')} FROM payment_acceptance.bill b
          WHERE b.shop = named.shop AND b.bill_id = named.bill_id) AS "intentId", named.shop, named.bill_id AS "billId"
      FROM (SELECT DISTINCT c.shop, c.bill_id FROM payment_acceptance.callback c
        WHERE c.pending = TRUE AND c.intent_id IS NULL AND (c.shop > ${shop} OR c.shop = ${shop} AND c.bill_id > ${billId})
        ORDER BY c.shop, c.bill_id LIMIT ${LINK_BATCH_SIZE}) named ORDER BY named.shop, named.bill_id`;
    for (const { intentId, ...named } of bills) if (intentId !== null) await this.linkWaiting({ ...named, intentId });
    this.lastPosition = (bills.length < LINK_BATCH_SIZE ? undefined : bills.at(-1)) ?? START_POSITION;
  }

  async traceOf(id: string): Promise<string | null> {
    const [row] = await this.database.rows<{ traceparent: string | null }>({})`
      SELECT b.traceparent FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
      WHERE c.id = ${id}`;
    return row?.traceparent ?? null;
  }

  /**
   * Ends the wait of old callbacks whose bill cannot be checked: postbacks for an unknown bill, and redirects whose
   * bill never got an id at the service. They stay recorded but no longer count against the limit. A bill that is
   * attached or imported later is checked at once anyway.
   */
  async retireWaiting({ unmatchedMs, unnamedMs }: WaitingLimits): Promise<void> {
    const { database } = this;
    const { oneOf, text } = database.dialect;
    const ofNone = sql`payment_acceptance.callback c WHERE c.pending = TRUE AND c.intent_id IS NULL`;
    const ofUnnamed = sql`payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
      WHERE c.pending = TRUE AND c.intent_id IS NOT NULL AND b.bill_id IS NULL`;
    for (const [waiting, isStill, afterMs] of [
      [ofNone, sql`t.intent_id IS NULL`, unmatchedMs],
      [ofUnnamed, sql`t.intent_id IS NOT NULL`, unnamedMs],
    ] as const) {
      const candidates = await database.rows<{ id: string }>({})`
        SELECT ${text('c.id')} AS id FROM ${waiting} AND c.received_at < ${database.now(-afterMs)} LIMIT 1000`;
      if (candidates.length === 0) continue;
      const old = candidates.map(({ id }) => id);
      await database.transaction(async (tx) => {
        const ids = await database.lockFree(tx, 'callback', old, sql`t.pending = TRUE AND ${isStill}`);
        await tx.change`UPDATE payment_acceptance.callback SET pending = FALSE, consumed_at = ${database.now()}
          WHERE id ${oneOf(ids, 'uuid')}`;
      });
    }
  }

  /** The bill may have been opened between our read and our commit; see {@link linkWaiting}. */
  protected async linkLate({ id, shop, intentId, billId }: NewCallback): Promise<boolean> {
    if (intentId !== null || billId === null) return false;
    const [bill] = await this.database.rows<{ intentId: string }>({})`
      SELECT ${this.database.dialect.text('intent_id')} AS "intentId" FROM payment_acceptance.bill
      WHERE shop = ${shop} AND bill_id = ${billId}`;
    if (!bill) return false;
    const linked = await this.database.change`
      UPDATE payment_acceptance.callback SET intent_id = ${bill.intentId} WHERE id = ${id} AND intent_id IS NULL`;
    return linked > 0;
  }
}

/**
 * The outcome that a callback's check looks for in the service's list: what a postback asserts, or SUCCESS for a
 * redirect to the Success URL; NULL if there is none.
 */
export function expectedStatus(kind: Expression, status: Expression): Statement {
  return sql`CASE WHEN ${toSql(kind)} = 'redirect-success' THEN 'SUCCESS' ELSE ${assertedStatus(kind, status)} END`;
}

/** The outcome that a postback asserts; NULL for a redirect or an unknown status. */
export function assertedStatus(kind: Expression, status: Expression): Statement {
  return sql`CASE WHEN ${toSql(kind)} = 'postback' AND ${toSql(status)} IN ('SUCCESS', 'FAIL') THEN ${toSql(status)} END`;
}

/** @param which selects the callbacks */
export function redactableCallbacks(which: Statement): Redactable {
  return {
    table: sql`payment_acceptance.callback`,
    condition: sql`${which} AND fields <> '{}'`,
    change: sql`fields = '{}'`,
  };
}

/** On PostgreSQL: no fields if the personal data of the callback's bill `b` has been removed. */
export function fieldsUnlessRedacted(fields: Expression): Statement {
  return sql`CASE WHEN b.redacted_at IS NULL THEN ${toSql(fields)} ELSE '{}'::jsonb END`;
}

/**
 * On PostgreSQL: omits `custom` if the bill's own `custom` (bill `b`) has been removed, which leaves nothing to compare
 * with.
 */
export function corroborationUnlessRedacted(corroboration: Statement): Statement {
  return sql`(${corroboration} - CASE WHEN b.redacted_at IS NOT NULL AND b.custom_given THEN 'custom' ELSE '' END)`;
}
