import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { KnownPayment } from '../../domain/callback.js';
import type { LockedClaim } from '../../domain/claim.js';
import {
  LOCKED_BILL_COLUMNS,
  CONFIRMED,
  PAYMENT_COLUMNS,
  SettlementStore,
  lockedBill,
  type ClaimKey,
  type Locked,
} from '../settlement.store.js';
import { instant } from '../sql.js';
import type { MariaDatabase } from './maria.database.js';
import type { IntentId, OrderId, PaymentId } from '../../domain/ids.js';

type Known = Omit<KnownPayment, 'knownAt' | 'confirmedSince'> & { knownAt: string; SUCCESS: number; FAIL: number };

@Injectable()
export class MariaSettlementStore extends SettlementStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  /** By primary key: another way through the table would lock what it passes. */
  override async lockClaimed(
    manager: EntityManager,
    claims: readonly ClaimKey[],
    wait: boolean,
  ): Promise<LockedClaim[]> {
    if (claims.length === 0) return [];
    const lock = wait ? 'FOR UPDATE' : 'FOR UPDATE SKIP LOCKED';
    const key = (shop: string, orderId: OrderId): string => `${shop} ${orderId}`;
    const orders = await this.maria.query<{ shop: string; orderId: OrderId; firstPaymentId: PaymentId | null }>(
      `SELECT o.shop, o.order_id AS "orderId", o.first_payment_id AS "firstPaymentId"
       FROM payment_acceptance.shop_order o FORCE INDEX (PRIMARY)
       WHERE (o.shop, o.order_id) IN ($1) ORDER BY o.shop, o.order_id ${lock}`,
      [claims.map(({ shop, orderId }) => [shop, orderId])],
      manager,
    );
    const held = new Map(orders.map((order) => [key(order.shop, order.orderId), order.firstPaymentId]));
    const near = claims.filter(({ shop, orderId }) => held.has(key(shop, orderId)));
    const claimed = new Set(near.map(({ intentId, token }) => key(intentId, token)));
    const rows = await this.maria.query<Locked & { token: string | null }>(
      `SELECT ${LOCKED_BILL_COLUMNS}, b.lease_token AS token FROM payment_acceptance.bill b FORCE INDEX (PRIMARY)
       WHERE b.id = ANY($2) ORDER BY b.id ${lock}`,
      [this.maria.offsetMs, [...new Set(near.map(({ intentId }) => intentId))]],
      manager,
    );
    return rows.flatMap(({ token, ...bill }) =>
      token === null || !claimed.has(key(bill.intentId, token))
        ? []
        : [{ bill: lockedBill(bill), token, firstPaymentId: held.get(key(bill.shop, bill.orderId)) ?? null }],
    );
  }

  override async payments(
    manager: EntityManager,
    intentIds: readonly IntentId[],
    listed: readonly { readonly shop: string; readonly paymentId: PaymentId }[],
  ): Promise<KnownPayment[]> {
    const known = await this.maria.query<Known>(
      `SELECT ${PAYMENT_COLUMNS}, ${CONFIRMED('SUCCESS')}, ${CONFIRMED('FAIL')}
       FROM payment_acceptance.payment p WHERE p.bill_id = ANY($1)`,
      [intentIds],
      manager,
    );
    const elsewhere = await this.maria.query<Known>(
      `SELECT ${PAYMENT_COLUMNS}, 0::int AS "SUCCESS", 0::int AS "FAIL" FROM payment_acceptance.payment p
       WHERE (p.shop, p.payment_id) IN ($2) AND p.bill_id <> ALL($1)`,
      [intentIds, listed.length > 0 ? listed.map(({ shop, paymentId }) => [shop, paymentId]) : [['', '']]],
      manager,
    );
    return [...known, ...elsewhere].map(({ knownAt, SUCCESS, FAIL, ...row }) => ({
      ...row,
      knownAt: instant(knownAt),
      confirmedSince: { SUCCESS, FAIL },
    }));
  }
}
