import { Injectable } from '@nestjs/common';
import type { LockedBill, LockedOrder } from '../../../domain/bill.js';
import type { KnownPayment } from '../../../domain/callback.js';
import type { LockedClaim } from '../../../domain/claim.js';
import type { IntentId, OrderId } from '../../../domain/ids.js';
import {
  confirmed,
  knownPayment,
  LOCKED_BILL,
  lockedBill,
  PAYMENT_ROW,
  SettlementStore,
  toKnownPayment,
  type ClaimKey,
  type PaymentKey,
  type PaymentRow,
} from '../settlement.store.js';
import { inPieces } from '../../../common/pieces.js';
import { flag } from '../../../database/reading.js';
import { join, sql } from '../../../database/statement.js';
import { mariadb } from '../../../database/mariadb/dialect.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

interface HeldOrder extends LockedOrder {
  readonly shop: string;
  readonly orderId: OrderId;
}

@Injectable()
export class MariaSettlementStore extends SettlementStore {
  constructor(protected override readonly database: MariaDatabase) {
    super(database);
  }

  /** By primary key: any other access path would lock the rows that it passes. */
  override async lockClaimed(tx: OwnTransaction, claims: readonly ClaimKey[], wait: boolean): Promise<LockedClaim[]> {
    if (claims.length === 0) return [];
    const lock = wait ? sql`FOR UPDATE` : sql`FOR UPDATE SKIP LOCKED`;
    const pair = (first: string, second: string): string => `${first} ${second}`;
    const keys = claims.map(({ shop, orderId }) => sql`(${shop}, ${orderId})`);
    const orders = await this.database.rows<HeldOrder>(
      sql`SELECT o.shop, o.order_id AS "orderId", o.first_payment_id AS "firstPaymentId",
         o.cancelled_at IS NOT NULL AS cancelled
       FROM payment_acceptance.shop_order o FORCE INDEX (PRIMARY)
       WHERE (o.shop, o.order_id) IN (${join(keys, ', ')}) ORDER BY o.shop, o.order_id ${lock}`,
      { cancelled: flag },
      tx,
    );
    const held = new Map(orders.map(({ shop, orderId, ...order }) => [pair(shop, orderId), order]));
    const near = claims.filter(({ shop, orderId }) => held.has(pair(shop, orderId)));
    const claimed = new Set(near.map(({ intentId, token }) => pair(intentId, token)));
    const ids = [...new Set(near.map(({ intentId }) => intentId))];
    const rows = await this.database.rows<LockedBill & { token: string | null }>(
      sql`SELECT ${lockedBill(mariadb, mariadb.now(this.database.offsetMs))}, b.lease_token AS token
       FROM payment_acceptance.bill b FORCE INDEX (PRIMARY) WHERE b.intent_id ${mariadb.oneOf(ids, 'uuid')} ORDER BY b.intent_id ${lock}`,
      LOCKED_BILL,
      tx,
    );
    return rows.flatMap(({ token, ...bill }) => {
      const order = held.get(pair(bill.shop, bill.orderId));
      return order && token !== null && claimed.has(pair(bill.intentId, token)) ? [{ bill, token, order }] : [];
    });
  }

  override async payments(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<KnownPayment[]> {
    const known = await this.database.rows<PaymentRow>(
      sql`SELECT ${knownPayment(mariadb)}, ${confirmed('SUCCESS')}, ${confirmed('FAIL')}
       FROM payment_acceptance.payment p WHERE p.intent_id ${mariadb.oneOf(intentIds, 'uuid')}`,
      PAYMENT_ROW,
      tx,
    );
    const payments = known.map(toKnownPayment);
    for (const piece of inPieces(listed)) {
      const keys = piece.map(({ shop, paymentId }) => sql`(${shop}, ${paymentId})`);
      const elsewhere = await this.database.rows<PaymentRow>(
        sql`SELECT ${knownPayment(mariadb)}, 0 AS "SUCCESS", 0 AS "FAIL" FROM payment_acceptance.payment p
         WHERE (p.shop, p.payment_id) IN (${join(keys, ', ')}) AND p.intent_id ${mariadb.noneOf(intentIds, 'uuid')}`,
        PAYMENT_ROW,
        tx,
      );
      for (const row of elsewhere) payments.push(toKnownPayment(row));
    }
    return payments;
  }
}
