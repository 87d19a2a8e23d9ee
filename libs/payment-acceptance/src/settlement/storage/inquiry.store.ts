import { Injectable } from '@nestjs/common';
import type { BillId } from '../../domain/ids.js';
import type { ReportedPayment } from '../../domain/payment.js';
import { Database } from '../../database/database.js';
import { IS_LOST, NOT_IN_LEDGER, IS_WAITING } from './lost-bills.js';
import { integer } from '../../database/reading.js';
import { join, rawSql, sql, type Statement } from '../../database/statement.js';

export interface BillToAsk {
  readonly billId: BillId;
  readonly asks: number;
}

/** A payment of a lost bill, as the service last listed it (section 2.3). */
export type LostBillPayment = Pick<
  ReportedPayment,
  'paymentId' | 'status' | 'statusText' | 'amount' | 'amountReceived' | 'currency' | 'fromCard' | 'createdAtText'
> & {
  /** ISO 8601 in UTC, from the service's time in the shop's `timeZone`; `null` if it could not be read. */
  readonly createdAt: string | null;
};

export interface ShopToAsk {
  readonly shop: string;
  /** Unused part of its rate limit, as milliseconds up to one second; negative if it is used up. */
  readonly savedMs: number;
}

/** The longest pause between two inquiries: a later date comes from a clock that was set back since. */
const MAX_PAUSE_MS = 3_600_000;

const MAX_PAYMENTS = 20;

const BATCH = 1_000;

@Injectable()
export class InquiryStore {
  constructor(private readonly database: Database) {}

  /**
   * Shops that the service accepts, whose next inquiry is due, and that have a waiting postback or a bill to ask about
   * again.
   */
  shopsToAsk(): Promise<ShopToAsk[]> {
    const { dialect } = this.database;
    const saved = dialect.msBetween(
      sql`greatest(s.next_request_at, ${this.database.now(-1_000)})`,
      this.database.now(),
    );
    // One row of each shop is enough: EXISTS would let MariaDB read all of them.
    return this.database.rows<ShopToAsk>({ savedMs: integer })`SELECT s.shop, ${saved} AS "savedMs"
      FROM payment_acceptance.shop_state s WHERE ${this.isInquiryDue()} AND (
        (SELECT 1 FROM payment_acceptance.callback c WHERE c.shop = s.shop AND ${IS_WAITING} LIMIT 1) = 1
        OR (SELECT 1 FROM payment_acceptance.lost_bill l
          WHERE l.shop = s.shop AND l.ask_after <= ${this.database.now()} LIMIT 1) = 1) ORDER BY s.shop`;
  }

  /**
   * Bills that were never asked about, or that have used up their requests and were named again since. Each counts
   * once, however many postbacks name it.
   * @param creationMs how long a creation may still be in flight after its postback has come
   */
  findNew(shop: string, which: 'newest' | 'oldest', creationMs: number, limit: number): Promise<BillToAsk[]> {
    return this.database.rows<BillToAsk>({ asks: integer })`SELECT named.bill_id AS "billId", 0 AS asks FROM (
        SELECT c.shop, c.bill_id, min(c.received_at) AS first_at, max(c.received_at) AS last_at
        FROM payment_acceptance.callback c WHERE c.shop = ${shop} AND ${IS_WAITING}
        GROUP BY c.shop, c.bill_id
        HAVING min(c.received_at) <= ${this.database.now(-creationMs)}) named
      WHERE ${hasNone(sql`lost_bill`, sql`AND NOT (${IS_USED_UP} AND known.asked_at < named.last_at)`)} AND ${hasNone(sql`bill`)}
      ORDER BY ${rawSql(which === 'newest' ? 'last_at DESC' : 'first_at')} LIMIT ${limit}`;
  }

  findDueAgain(shop: string, limit: number): Promise<BillToAsk[]> {
    return this.database.rows<BillToAsk>({ asks: integer })`
      SELECT l.bill_id AS "billId", l.asks FROM payment_acceptance.lost_bill l
      WHERE l.shop = ${shop} AND l.ask_after <= ${this.database.now()} AND ${NOT_IN_LEDGER} ORDER BY l.ask_after LIMIT ${limit}`;
  }

  async hasMoreWaiting(maxWaiting: number, shop: string): Promise<boolean> {
    const waiting = await this.database.count`
      SELECT count(*) AS count FROM (SELECT 1 FROM payment_acceptance.callback c WHERE c.shop = ${shop} AND ${IS_WAITING}
      LIMIT ${maxWaiting + 1}) counted`;
    return waiting > maxWaiting;
  }

  /**
   * Takes the shop's turn and some requests of its rate; `false` if another instance was faster, or the rate is used
   * up. A single statement, so that the shop's row is locked only briefly.
   * @param gapMs pause until the next turn of any instance
   */
  async reserveRequests(
    { shop, savedMs }: ShopToAsk,
    requests: number,
    requestsPerSecond: number,
    gapMs: number,
  ): Promise<boolean> {
    const nextRequestAt = this.database.now(Math.round((requests * 1_000) / requestsPerSecond) - savedMs);
    const changedRows = await this.database.change`
      UPDATE payment_acceptance.shop_state SET next_inquiry_at = ${this.database.now(gapMs)}, next_request_at = ${nextRequestAt}
      WHERE shop = ${shop} AND ${this.isInquiryDue()} AND next_request_at <= ${nextRequestAt}`;
    return changedRows === 1;
  }

  async postpone(shop: string, pauseMs: number): Promise<void> {
    await this.database.change`
      UPDATE payment_acceptance.shop_state SET next_inquiry_at = ${this.database.now(Math.min(pauseMs, MAX_PAUSE_MS))}
      WHERE shop = ${shop}`;
  }

  /**
   * Until the lease ends, no other instance asks about the bills.
   * @param newId makes ids of new records
   */
  async lease(shop: string, bills: readonly BillToAsk[], leaseMs: number, newId: () => string): Promise<void> {
    const leasedUntil = this.database.now(leaseMs);
    const rows = bills.map(
      ({ billId }) => sql`(${newId()}, ${shop}, ${billId}, 'SOUGHT', 0, ${this.database.now()}, ${leasedUntil})`,
    );
    await this.database.change`
      INSERT INTO payment_acceptance.lost_bill (id, shop, bill_id, state, asks, asked_at, ask_after)
      VALUES ${join(rows, ', ')} ${this.database.dialect.ignoreExisting('shop', 'bill_id')}`;
    await this.database.change`
      UPDATE payment_acceptance.lost_bill known SET asks = CASE WHEN ${IS_USED_UP} THEN 0 ELSE asks END, ask_after = ${leasedUntil}
      WHERE ${this.isOneOf(shop, bills)} AND state <> 'DISMISSED'`;
  }

  /** @param pauseMs pause before the bills may be asked about again; `null` for never */
  async noteAsked(shop: string, bills: readonly BillToAsk[], pauseMs: number | null): Promise<void> {
    const askAfter = pauseMs === null ? null : this.database.now(pauseMs);
    await this.database.change`
      UPDATE payment_acceptance.lost_bill SET asks = asks + 1, asked_at = ${this.database.now()}, ask_after = ${askAfter}
      WHERE ${this.isOneOf(shop, bills)} AND state <> 'DISMISSED'`;
  }

  /** Also deletes the postbacks that named the bills at least `beforeMs` ago. */
  async forgetBills(shop: string, unknown: readonly BillToAsk[], beforeMs: number): Promise<void> {
    const condition = this.isOneOf(shop, unknown);
    await this.database.change`
      DELETE FROM payment_acceptance.callback WHERE ${condition} AND pending = TRUE AND intent_id IS NULL
      AND received_at <= ${this.database.now(-beforeMs)}`;
    await this.database.change`DELETE FROM payment_acceptance.lost_bill WHERE ${condition} AND state = 'SOUGHT'`;
  }

  /** Returns whether the bill is newly confirmed and still missing from the ledger. */
  async storeConfirmed(shop: string, billId: BillId, payments: readonly ReportedPayment[]): Promise<boolean> {
    const succeededFirst = [...payments].sort(
      (a, b) => Number(b.status === 'SUCCESS') - Number(a.status === 'SUCCESS'),
    );
    const listed = sql`payments = ${JSON.stringify(succeededFirst.slice(0, MAX_PAYMENTS).map(toLostBillPayment))}, listed = ${payments.length}`;
    const ofBill = sql`shop = ${shop} AND bill_id = ${billId}`;
    const first = (column: Lowercase<string>): Statement => sql`(
      SELECT ${rawSql(column)} FROM payment_acceptance.callback WHERE pending = TRUE AND intent_id IS NULL AND ${ofBill}
      ORDER BY received_at LIMIT 1)`;
    const changed = await this.database.change`
      UPDATE payment_acceptance.lost_bill SET state = 'LOST', ${listed}, found_at = ${this.database.now()},
        order_id = ${first('order_id')}, first_postback_at = coalesce(${first('received_at')}, asked_at)
      WHERE ${ofBill} AND state = 'SOUGHT'`;
    if (changed === 0) {
      // A bill taken in meanwhile may even be erased by now.
      await this.database.change`
        UPDATE payment_acceptance.lost_bill l SET ${listed} WHERE ${ofBill} AND ${IS_LOST}`;
      return false;
    }
    const lost = await this.database.rows({})`
      SELECT 1 FROM payment_acceptance.lost_bill l WHERE l.shop = ${shop} AND l.bill_id = ${billId} AND ${IS_LOST}`;
    return lost.length > 0;
  }

  /** Deletes unconfirmed bills that were last asked about long ago; returns their number. */
  async forget(afterMs: number): Promise<number> {
    const expired = await this.database.ids`
      SELECT id FROM payment_acceptance.lost_bill WHERE state = 'SOUGHT' AND asked_at < ${this.database.now(-afterMs)} LIMIT ${BATCH}`;
    if (expired.length === 0) return 0;
    return this.database.change`
      DELETE FROM payment_acceptance.lost_bill WHERE id ${this.database.dialect.oneOf(expired, 'uuid')} AND state = 'SOUGHT'`;
  }

  private isOneOf(shop: string, bills: readonly BillToAsk[]): Statement {
    const ids = bills.map(({ billId }) => billId);
    return sql`shop = ${shop} AND bill_id ${this.database.dialect.oneOf(ids, 'text')}`;
  }

  private isInquiryDue(): Statement {
    return sql`refused_since IS NULL
      AND (next_inquiry_at IS NULL OR NOT next_inquiry_at BETWEEN ${this.database.now()} AND ${this.database.now(MAX_PAUSE_MS)})`;
  }
}

function toLostBillPayment({ createdAt, ...payment }: ReportedPayment): LostBillPayment {
  const { paymentId, status, statusText, amount, amountReceived, currency, fromCard, createdAtText } = payment;
  const kept = { paymentId, status, statusText, amount, amountReceived, currency, fromCard, createdAtText };
  return { ...kept, createdAt: createdAt?.toISOString() ?? null };
}

/** Whether the row `known` of an unconfirmed bill has used up its requests. */
const IS_USED_UP = sql`known.state = 'SOUGHT' AND known.ask_after IS NULL`;

/**
 * Whether a table has no row for the bill `named`. A lookup by key, not a join: the planner cannot know how few there
 * are.
 */
function hasNone(table: Statement, condition = sql``): Statement {
  return sql`(SELECT count(*) FROM payment_acceptance.${table} known
    WHERE known.shop = named.shop AND known.bill_id = named.bill_id ${condition}) = 0`;
}
