import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { LockedBill } from '../domain/bill.js';
import type { Assertion, KnownPayment } from '../domain/callback.js';
import type { LockedClaim } from '../domain/claim.js';
import { Database } from './database.js';
import { NOW, epochMs, instant, rowsOf, opaque, type Texts } from './sql.js';
import type { IntentId, PaymentId } from '../domain/ids.js';

/** A bill that a check has claimed, and the token that it claimed it with. */
export type ClaimKey = Pick<LockedBill, 'intentId' | 'shop' | 'orderId'> & { readonly token: string };

export type Locked = Texts<LockedBill, 'openedAt' | 'paidAt' | 'endedAt' | 'nextCheckAt' | 'now'>;

export const LOCKED_BILL_COLUMNS = `b.id AS "intentId", b.shop, b.order_id AS "orderId", b.attempt, b.service_bill_id AS "billId", b.state,
  b.amount::text AS amount, b.currency, b.payer_pays_commission AS "payerPaysCommission", b.custom,
  b.custom_given AS "customGiven", b.checks, ${epochMs('b.opened_at')} AS "openedAt", ${epochMs('b.paid_at')} AS "paidAt",
  ${epochMs('b.ended_at')} AS "endedAt", ${epochMs('b.next_check_at')} AS "nextCheckAt", ${epochMs(NOW)} AS now`;

/** Confirmed assertions of a status since a payment `p` has had its own. */
export const CONFIRMED = (status: Assertion): string =>
  `(SELECT count(*)::int FROM payment_acceptance.callback c WHERE c.bill_id = p.bill_id AND c.outcome = 'confirmed'
    AND c.consumed_at >= p.changed_at AND c.status = '${status}') AS "${status}"`;

export const PAYMENT_COLUMNS = `p.shop, p.payment_id AS "paymentId", p.bill_id AS "intentId", p.status, p.amount::text AS amount,
  p.amount_received::text AS "amountReceived", p.commission::text AS commission, p.currency, p.from_card AS "fromCard",
  p.service_created_at AS "createdAtText", p.service_status AS "statusText", p.verdict,
  ${epochMs('p.changed_at')} AS "knownAt"`;

const PAYMENTS = `SELECT ${PAYMENT_COLUMNS}, ${CONFIRMED('SUCCESS')}, ${CONFIRMED('FAIL')}
  FROM payment_acceptance.payment p WHERE p.bill_id = ANY(${opaque('$1', 'uuid[]')})
  UNION ALL
  SELECT ${PAYMENT_COLUMNS}, 0, 0 FROM ${rowsOf(2, 'text', 'text')} AS listed (shop, payment_id)
  JOIN payment_acceptance.payment p USING (shop, payment_id) WHERE p.bill_id <> ALL(${opaque('$1', 'uuid[]')})`;

/** See `SettlementStore.lockClaimed`. */
const lockClaimed = (lock: string): string =>
  `WITH claimed AS (
    SELECT * FROM ${rowsOf(2, 'uuid', 'uuid', 'text', 'text')} AS claimed (id, token, shop, order_id)
  ), held AS (
    SELECT o.shop, o.order_id, o.first_payment_id FROM payment_acceptance.shop_order o
    WHERE (o.shop, o.order_id) IN (SELECT shop, order_id FROM claimed) ORDER BY o.shop, o.order_id ${lock}
  )
  SELECT ${LOCKED_BILL_COLUMNS}, claimed.token::text AS token, held.first_payment_id AS "firstPaymentId" FROM claimed JOIN held USING (shop, order_id)
  JOIN payment_acceptance.bill b ON b.id = claimed.id AND b.lease_token = claimed.token
  ORDER BY b.id ${lock.replace('UPDATE', 'UPDATE OF b')}`;
const LOCK_WAITING = lockClaimed('FOR UPDATE');
const LOCK_FREE = lockClaimed('FOR UPDATE SKIP LOCKED');

/** What a settlement locks and reads. */
@Injectable()
export class SettlementStore {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /**
   * Locks those of the bills whose claims still hold, with their orders: orders first, each kind in the order of its key,
   * as every instance does. Without `wait`, what somebody else has locked is left out, too.
   */
  async lockClaimed(manager: EntityManager, claims: readonly ClaimKey[], wait: boolean): Promise<LockedClaim[]> {
    const rows = await this.database.prepared<Locked & Pick<LockedClaim, 'token' | 'firstPaymentId'>>(
      wait ? LOCK_WAITING : LOCK_FREE,
      [
        this.database.offsetMs,
        claims.map(({ intentId }) => intentId),
        claims.map(({ token }) => token),
        claims.map(({ shop }) => shop),
        claims.map(({ orderId }) => orderId),
      ],
      manager,
    );
    return rows.map(({ token, firstPaymentId, ...bill }) => ({ bill: lockedBill(bill), token, firstPaymentId }));
  }

  /** Locks a bill whatever claim there is, for an operator. The order must be locked before. */
  async lockBill(manager: EntityManager, id: string): Promise<LockedBill | undefined> {
    const [row] = await this.database.query<Locked>(
      `SELECT ${LOCKED_BILL_COLUMNS} FROM payment_acceptance.bill b WHERE b.id = $2 FOR UPDATE`,
      [this.database.offsetMs, id],
      manager,
    );
    return row && lockedBill(row);
  }

  /** What the ledger has of these bills, and of these payments under whatever bill. The bills must be locked before. */
  async payments(
    manager: EntityManager,
    intentIds: readonly IntentId[],
    listed: readonly { readonly shop: string; readonly paymentId: PaymentId }[],
  ): Promise<KnownPayment[]> {
    const rows = await this.database.prepared<
      Omit<KnownPayment, 'knownAt'> & { knownAt: string } & Record<Assertion, number>
    >(PAYMENTS, [intentIds, listed.map(({ shop }) => shop), listed.map(({ paymentId }) => paymentId)], manager);
    return rows.map(({ knownAt, SUCCESS, FAIL, ...row }) => ({
      ...row,
      knownAt: instant(knownAt),
      confirmedSince: { SUCCESS, FAIL },
    }));
  }
}

export function lockedBill(row: Locked): LockedBill {
  return {
    ...row,
    openedAt: instant(row.openedAt),
    paidAt: instant(row.paidAt),
    endedAt: instant(row.endedAt),
    nextCheckAt: instant(row.nextCheckAt),
    now: instant(row.now),
  };
}
