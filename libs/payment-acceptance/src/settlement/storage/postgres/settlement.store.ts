import { Injectable } from '@nestjs/common';
import type { LockedBill, LockedOrder } from '../../../domain/bill.js';
import type { KnownPayment } from '../../../domain/callback.js';
import type { LockedClaim } from '../../../domain/claim.js';
import type { IntentId } from '../../../domain/ids.js';
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
} from '../settlement.store.js';
import { flag } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { givenRows, opaque } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

const PAYMENTS = prepare(['intentIds', 'listed'], ({ intentIds, listed }) => {
  const ids = opaque(intentIds, 'uuid[]');
  return sql`SELECT ${knownPayment(postgres)}, ${confirmed('SUCCESS')}, ${confirmed('FAIL')}
    FROM payment_acceptance.payment p WHERE p.intent_id = ANY(${ids})
    UNION ALL
    SELECT ${knownPayment(postgres)}, 0, 0
    FROM ${givenRows(listed, 'shop text, payment_id text')} listed
    JOIN payment_acceptance.payment p USING (shop, payment_id) WHERE p.intent_id <> ALL(${ids})`;
});

/** See `SettlementStore.lockClaimed`. */
const lockClaimed = (orders: Statement, bills: Statement) =>
  prepare(
    ['offsetMs', 'claims'],
    ({
      offsetMs,
      claims,
    }) => sql`WITH claimed AS ${givenRows(claims, 'intent_id uuid, token uuid, shop text, order_id text')}, held AS (
        SELECT o.shop, o.order_id, o.first_payment_id, o.cancelled_at IS NOT NULL AS cancelled FROM payment_acceptance.shop_order o
        WHERE (o.shop, o.order_id) IN (SELECT shop, order_id FROM claimed) ORDER BY o.shop, o.order_id ${orders}
      )
      SELECT ${lockedBill(postgres, postgres.now(offsetMs))}, claimed.token::text AS token,
        held.first_payment_id AS "firstPaymentId", held.cancelled
      FROM claimed JOIN held USING (shop, order_id)
      JOIN payment_acceptance.bill b ON b.intent_id = claimed.intent_id AND b.lease_token = claimed.token
      ORDER BY b.intent_id ${bills}`,
  );
const LOCK_WAITING = lockClaimed(sql`FOR UPDATE`, sql`FOR UPDATE OF b`);
const LOCK_FREE = lockClaimed(sql`FOR UPDATE SKIP LOCKED`, sql`FOR UPDATE OF b SKIP LOCKED`);

@Injectable()
export class PostgresSettlementStore extends SettlementStore {
  constructor(protected override readonly database: PostgresDatabase) {
    super(database);
  }

  override async lockClaimed(tx: OwnTransaction, claims: readonly ClaimKey[], wait: boolean): Promise<LockedClaim[]> {
    const rows = await this.database.execute<LockedBill & LockedOrder & { token: string }, 'offsetMs' | 'claims'>(
      wait ? LOCK_WAITING : LOCK_FREE,
      {
        offsetMs: this.database.offsetMs,
        claims: JSON.stringify(
          claims.map(({ intentId, token, shop, orderId }) => ({ intent_id: intentId, token, shop, order_id: orderId })),
        ),
      },
      { ...LOCKED_BILL, cancelled: flag },
      tx,
    );
    return rows.map(({ token, firstPaymentId, cancelled, ...bill }) => ({
      bill,
      token,
      order: { firstPaymentId, cancelled },
    }));
  }

  override async payments(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<KnownPayment[]> {
    const keys = listed.map(({ shop, paymentId }) => ({ shop, payment_id: paymentId }));
    const given = { intentIds, listed: JSON.stringify(keys) };
    return (await this.database.execute(PAYMENTS, given, PAYMENT_ROW, tx)).map(toKnownPayment);
  }
}
