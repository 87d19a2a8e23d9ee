import type { LockedBill } from '../../domain/bill.js';
import type { Assertion, KnownPayment } from '../../domain/callback.js';
import type { LockedClaim } from '../../domain/claim.js';
import type { IntentId, PaymentId } from '../../domain/ids.js';
import type { EarlierReviews } from '../../domain/occasion.js';
import type { Settlement } from '../../domain/settlement.js';
import type { Database } from '../../database/database.js';
import type { Dialect } from '../../database/dialect.js';
import { instant, integer, flag, type ColumnReaders } from '../../database/reading.js';
import { remove } from '../../database/redactable.js';
import { expectedStatus, redactableCallbacks } from '../../callbacks/storage/callback.store.js';
import { rawSql, countWhere, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export type ClaimKey = Pick<LockedBill, 'intentId' | 'shop' | 'orderId'> & { readonly token: string };

export interface PaymentKey {
  readonly shop: string;
  readonly paymentId: PaymentId;
}

export interface AddedEvent {
  readonly id: string;
  readonly deliveries: number;
  /** The consumers for which it waits behind an earlier event of the bill. */
  readonly behind: readonly string[];
}

/** Nothing else writes payments, events or reviews. */
export abstract class SettlementStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * Locks the bills whose claims are still current, with their orders: orders first, each in key order, as every
   * instance does, so that no deadlocks occur. Without `wait`, skips rows that others have locked.
   */
  protected abstract lockClaimed(
    tx: OwnTransaction,
    claims: readonly ClaimKey[],
    wait: boolean,
  ): Promise<LockedClaim[]>;

  /** The ledger's payments of these bills, and the listed ones of any bill. The bills must be locked. */
  abstract payments(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<KnownPayment[]>;

  /**
   * Locks and reads, in one round trip where the driver can. Payments of bills that are not locked may be among those
   * read.
   */
  async lockAndRead(
    tx: OwnTransaction,
    claims: readonly ClaimKey[],
    wait: boolean,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<{ readonly locked: LockedClaim[]; readonly known: KnownPayment[] }> {
    const locking = this.lockClaimed(tx, claims, wait);
    if (!tx.isPipelined && (await locking).length === 0) return { locked: [], known: [] };
    const reading = this.payments(tx, intentIds, listed);
    // If either fails, the other must not be under way when the transaction is rolled back.
    await Promise.allSettled([locking, reading]);
    return { locked: await locking, known: await reading };
  }

  /**
   * The bills and their orders must be locked. Returns the new events. Opens each review once: a closed one stays
   * closed.
   * @throws ConcurrentChangeError if a payment was assigned to another bill after these bills were locked
   */
  abstract write(
    tx: OwnTransaction,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<readonly AddedEvent[]>;

  /** @param readsFirst see `Database.transaction` */
  transaction<T>(work: (tx: OwnTransaction) => Promise<T>, readsFirst: boolean): Promise<T> {
    return this.database.transaction(work, readsFirst);
  }

  /** Earlier reviews of the whole bill for one reason. */
  async reviewsOfBill(intentId: IntentId, reason: string): Promise<EarlierReviews> {
    const [reviews] = await this.database.rows<EarlierReviews>({
      open: integer,
      closed: integer,
      lastClosedAt: instant,
    })`
      SELECT ${countWhere(sql`state = 'OPEN'`)} AS "open", ${countWhere(sql`state <> 'OPEN'`)} AS closed,
        ${this.database.dialect.epochMs('max(closed_at)')} AS "lastClosedAt"
      FROM payment_acceptance.review WHERE intent_id = ${intentId} AND payment_id IS NULL AND reason = ${reason}`;
    return reviews ?? { open: 0, closed: 0, lastClosedAt: null };
  }

  /**
   * A callback that was being recorded while its bill was redacted has kept its raw fields. It is pending, so a
   * settlement of the bill follows.
   */
  async redactCallbacks(tx: OwnTransaction, intentIds: readonly IntentId[]): Promise<void> {
    const ofBills = sql`intent_id ${this.database.dialect.oneOf(intentIds, 'uuid')}`;
    await remove(redactableCallbacks(ofBills), tx);
  }

  /** How many pending callbacks of each of these bills announce a success. Read after the bills are locked. */
  async countAnnouncements(tx: OwnTransaction, intentIds: readonly IntentId[]): Promise<ReadonlyMap<IntentId, number>> {
    if (intentIds.length === 0) return new Map();
    const counts = await tx.rows<{ intentId: IntentId; count: number }>({ count: integer })`
      SELECT c.intent_id AS "intentId", count(*) AS count FROM payment_acceptance.callback c
      WHERE c.intent_id ${this.database.dialect.oneOf(intentIds, 'uuid')} AND c.pending = TRUE
        AND ${expectedStatus('c.kind', 'c.status')} = 'SUCCESS' GROUP BY c.intent_id`;
    return new Map(counts.map(({ intentId, count }) => [intentId, count]));
  }

  /** Locks a bill regardless of claims, for an operator. The order must be locked. */
  async lockBill(tx: OwnTransaction, id: string): Promise<LockedBill | undefined> {
    const { dialect } = this.database;
    const [bill] = await tx.rows(LOCKED_BILL_READERS)`
      SELECT ${lockedBill(dialect, this.database.now())} FROM payment_acceptance.bill b WHERE b.intent_id = ${id} FOR UPDATE`;
    return bill;
  }
}

/** The columns of a {@link LockedBill} `b`. */
export function lockedBill({ text, epochMs }: Dialect, now: Statement): Statement {
  return sql`b.intent_id AS "intentId", b.shop, b.shop_id AS "shopId", b.order_id AS "orderId", b.attempt, b.bill_id AS "billId",
    b.state, ${text('b.amount')} AS amount, b.currency, b.payer_pays_commission AS "payerPaysCommission", b.custom,
    b.custom_given AS "customGiven", b.redacted_at IS NOT NULL AS redacted, b.checks, ${epochMs('b.opened_at')} AS "openedAt", ${epochMs('b.paid_at')} AS "paidAt",
    ${epochMs('b.ended_at')} AS "endedAt", ${epochMs('b.next_check_at')} AS "nextCheckAt", ${epochMs(now)} AS now`;
}

export const LOCKED_BILL_READERS: ColumnReaders<LockedBill> = {
  attempt: integer,
  payerPaysCommission: flag,
  customGiven: flag,
  redacted: flag,
  checks: integer,
  openedAt: instant,
  paidAt: instant,
  endedAt: instant,
  nextCheckAt: instant,
  now: instant,
};

export type PaymentRow = Omit<KnownPayment, 'confirmedSince'> & Record<Assertion, number>;

/** The columns of a {@link PaymentRow} `p`, except the counts of assertions. */
export function knownPayment({ text, epochMs }: Dialect): Statement {
  return sql`p.shop, p.payment_id AS "paymentId", p.intent_id AS "intentId", p.status, ${text('p.amount')} AS amount,
    ${text('p.amount_received')} AS "amountReceived", ${text('p.commission')} AS commission, p.currency,
    p.from_card AS "fromCard", p.service_created_at AS "createdAtText", p.service_status AS "statusText", p.verdict,
    ${text('p.contradiction')} AS contradiction, ${epochMs('p.changed_at')} AS "knownAt",
    CASE WHEN p.verdict IN ('succeeded', 'review') THEN (SELECT count(*) FROM payment_acceptance.review r WHERE r.intent_id = p.intent_id
      AND r.payment_id = p.payment_id AND r.reason = 'payment-changed' AND r.state <> 'OPEN') ELSE 0 END AS "closedChanges",
    p.verdict = 'review' AND EXISTS (SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = p.intent_id
      AND r.payment_id = p.payment_id AND r.state = 'OPEN') AS "isUnderReview"`;
}

/** How many assertions of a status were confirmed since a payment `p` reached its own status. */
export function confirmedCount(status: Assertion): Statement {
  const name = rawSql(status);
  return sql`(SELECT count(*) FROM payment_acceptance.callback c WHERE c.intent_id = p.intent_id AND c.outcome = 'confirmed'
    AND c.consumed_at >= p.changed_at AND c.status = '${name}') AS "${name}"`;
}

export const PAYMENT_ROW_READERS: ColumnReaders<PaymentRow> = {
  knownAt: instant,
  closedChanges: integer,
  isUnderReview: flag,
  SUCCESS: integer,
  FAIL: integer,
};

export function toKnownPayment({ SUCCESS, FAIL, ...payment }: PaymentRow): KnownPayment {
  return { ...payment, confirmedSince: { SUCCESS, FAIL } };
}
