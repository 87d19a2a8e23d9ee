import type { Database } from '../../database/database.js';
import { flag } from '../../database/reading.js';
import { sql, toSql, type Expression, type Statement } from '../../database/statement.js';
import type { IntentId } from '../../domain/ids.js';
import type { NamedBill } from './named-bill.store.js';
import type { Redactable } from '../../database/redactable.js';
import { callbackRow, insertCallbacks, LAST_DUE, readOwnBills, type NewCallback } from './stored-callback.js';

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

const DAY_MS = 24 * 3_600_000;

/** How long a postback waits for an unknown bill, whose commit may have been lost: it helps to find the bill again. */
const UNMATCHED_MS = 30 * DAY_MS;

/** How long a callback waits for a bill of ours without an id at the service. */
const UNNAMED_MS = DAY_MS;

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
  async record(callback: NewCallback, { maxUnmatched, maxPerBill }: RecordLimits): Promise<RecordResult> {
    const { intentId, shop, billId } = callback;
    const named = intentId === null ? sql`b.shop = ${shop} AND b.bill_id = ${billId}` : sql`b.intent_id = ${intentId}`;
    const [bill] = await readOwnBills(this.database, named);
    if (!bill && maxUnmatched === 0) return 'full';
    const refused = bill
      ? this.isRepeated(bill.intentId, callback, maxPerBill)
      : hasAtLeast(maxUnmatched, sql`pending = TRUE AND intent_id IS NULL AND shop = ${shop}`);
    const surplus = bill ? await this.surplusOf(bill.intentId, maxPerBill) : 0;
    if (bill && surplus > 0) {
      const [first] = await this.database.rows<{ refused: boolean }>({ refused: flag })`SELECT ${refused} AS refused`;
      if (first?.refused) return 'repeated';
      await this.makeRoom(bill.intentId, surplus);
    }
    // Asked as the row is inserted: of callbacks that come together, one requests the check of all.
    const row = callbackRow(callback, bill, this.database.now());
    const stored = await this.database.atReadCommitted((tx) =>
      insertCallbacks(tx ?? this.database, sql`SELECT ${row} FROM (SELECT 1) one WHERE NOT (${refused})`),
    );
    if (stored === 0) return bill ? 'repeated' : 'full';
    if (bill) return 'matched';
    // The bill may have been opened between our read and our commit; see `linkWaiting`.
    const [opened] = await readOwnBills(this.database, named);
    if (opened) await this.linkWaiting(opened);
    return opened ? 'matched' : 'unmatched';
  }

  /** Whether the bill has enough callbacks, one of which requests the same check as this one. */
  private isRepeated(bill: string, { kind, status }: NewCallback, maxPerBill: number): Statement {
    const expected = expectedStatus(sql`${kind}`, sql`${status}`);
    return sql`${hasAtLeast(maxPerBill, sql`intent_id = ${bill}`)} AND EXISTS (
      SELECT 1 FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.intent_id = b.intent_id
      WHERE b.intent_id = ${bill} AND c.pending = TRUE AND c.asks = 0 AND c.received_at <= ${this.database.now()}
        AND (b.lease_token IS NULL OR c.received_at > b.check_after)
        AND coalesce(${expected}, '') IN ('', ${expectedStatus('c.kind', 'c.status')}))`;
  }

  /** How many of the bill's callbacks one more would be too many. */
  private async surplusOf(bill: string, maxPerBill: number): Promise<number> {
    const count = await this.database.count`SELECT count(*) AS count FROM (
      SELECT 1 FROM payment_acceptance.callback WHERE intent_id = ${bill} LIMIT ${maxPerBill + 1}) kept`;
    return count - maxPerBill + 1;
  }

  private async makeRoom(bill: string, surplus: number): Promise<void> {
    await this.database.transaction(async (tx) => {
      const ids = await tx.ids`
        SELECT c.id FROM payment_acceptance.callback c WHERE c.intent_id = ${bill} AND c.pending = FALSE
        ORDER BY coalesce(c.outcome, '') = 'confirmed', c.received_at DESC LIMIT ${surplus} FOR UPDATE SKIP LOCKED`;
      await this.database.delete(tx, 'callback', ids);
    });
  }

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
   * {@link LINK_BATCH_SIZE} bills. Also makes due what another release has linked without doing so.
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
    const { text, oneOf } = this.database.dialect;
    const linked = await this.database.ids`
      SELECT ${text('c.id')} AS id FROM payment_acceptance.callback c
      WHERE c.pending = TRUE AND c.intent_id IS NOT NULL AND c.due_at >= ${LAST_DUE} LIMIT ${LINK_BATCH_SIZE}`;
    if (linked.length === 0) return;
    await this.database.change`
      UPDATE payment_acceptance.callback SET due_at = ${this.database.now()} WHERE id ${oneOf(linked, 'uuid')}`;
  }

  /** The traces of the bills of these callbacks that have one, by the callbacks' ids. */
  async tracesOf(ids: readonly string[]): Promise<Map<string, string>> {
    const { text, oneOf } = this.database.dialect;
    const rows = await this.database.rows<{ id: string; traceparent: string }>({})`
      SELECT ${text('c.id')} AS id, b.traceparent FROM payment_acceptance.callback c
      JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id WHERE c.id ${oneOf(ids, 'uuid')} AND b.traceparent IS NOT NULL`;
    return new Map(rows.map(({ id, traceparent }) => [id, traceparent]));
  }

  /**
   * Ends the wait of old callbacks whose bill cannot be checked: postbacks for an unknown bill, and redirects whose
   * bill never got an id at the service. They stay recorded but no longer count against the limit. A bill that is
   * attached or imported later is checked at once anyway.
   */
  async retireWaiting(): Promise<void> {
    const { database } = this;
    const { oneOf, text } = database.dialect;
    const ofNone = sql`payment_acceptance.callback c WHERE c.pending = TRUE AND c.intent_id IS NULL`;
    const ofUnnamed = sql`payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
      WHERE c.pending = TRUE AND c.intent_id IS NOT NULL AND b.bill_id IS NULL`;
    for (const [waiting, isStill, afterMs] of [
      [ofNone, sql`t.intent_id IS NULL`, UNMATCHED_MS],
      [ofUnnamed, sql`t.intent_id IS NOT NULL`, UNNAMED_MS],
    ] as const) {
      const old = await database.ids`
        SELECT ${text('c.id')} AS id FROM ${waiting} AND c.received_at < ${database.now(-afterMs)} LIMIT 1000`;
      if (old.length === 0) continue;
      await database.transaction(async (tx) => {
        const ids = await database.lockFree(tx, 'callback', old, sql`t.pending = TRUE AND ${isStill}`);
        await tx.change`UPDATE payment_acceptance.callback SET pending = FALSE, consumed_at = ${database.now()}
          WHERE id ${oneOf(ids, 'uuid')}`;
      });
    }
  }
}

function hasAtLeast(count: number, condition: Statement): Statement {
  return sql`(SELECT count(*) FROM (SELECT 1 FROM payment_acceptance.callback WHERE ${condition} LIMIT ${count}) counted) >= ${count}`;
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
