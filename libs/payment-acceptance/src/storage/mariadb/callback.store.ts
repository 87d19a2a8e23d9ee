import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DecimalAmount } from '../../domain/money.js';
import { CallbackStore, type NewCallback, type Recorded, type RecordLimits } from '../callback.store.js';
import { NOW } from '../sql.js';
import type { MariaDatabase, Raw } from './maria.database.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';

/** What a callback is held against: its bill. */
export interface OwnBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly billId: BillId | null;
  readonly orderId: OrderId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly custom: string;
}

export const OWN_BILL = `b.id AS "intentId", b.shop, b.service_bill_id AS "billId", b.order_id AS "orderId", b.amount::text AS amount,
  b.currency, b.custom`;

/** Takes rows as {@link callbackRow} makes them. */
export const INSERT_CALLBACKS = `INSERT INTO payment_acceptance.callback (id, kind, shop, bill_id, service_bill_id,
  order_id, status, digest, corroboration, fields, received_at, pending, due_at) VALUES $1`;

const ASSERTED_STATUS = `CASE WHEN c.kind = 'postback' AND c.status IN ('SUCCESS', 'FAIL') THEN c.status END`;

/** As our statement for PostgreSQL compares, but here: of what a stranger wrote, only the verdict reaches the database. */
export function callbackRow(callback: NewCallback, bill: OwnBill | undefined, receivedAt: Raw, now: Raw): unknown[] {
  const agrees = (own: string, told: string | null): string =>
    told === null ? 'absent' : told === own ? 'match' : 'mismatch';
  const corroboration = bill
    ? {
        order: agrees(bill.orderId, callback.orderId),
        amount: callback.amount === bill.amount ? 'match' : 'mismatch',
        custom: agrees(bill.custom, callback.custom),
        currency: agrees(bill.currency, callback.currency),
      }
    : callback.forwarded
      ? { forwarded: 'accepted' }
      : {};
  const { id, kind, shop, billId, maskedOrderId: keptOrderId, status, digest, fields } = callback;
  const json = [JSON.stringify(corroboration), JSON.stringify(fields)];
  return [id, kind, shop, bill?.intentId ?? null, billId, keptOrderId, status, digest, ...json, receivedAt, true, now];
}

@Injectable()
export class MariaCallbackStore extends CallbackStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  /** Reads the bill without a lock: recording never waits for one. */
  override async record(callback: NewCallback, limits: RecordLimits): Promise<Recorded> {
    const recorded = await this.maria.transaction(async (manager) => {
      const [bill] = await this.maria.query<OwnBill>(
        `SELECT ${OWN_BILL} FROM payment_acceptance.bill b
         WHERE ${callback.intentId === null ? 'b.shop = $2 AND b.service_bill_id = $3' : 'b.id = $1'}`,
        [callback.intentId, callback.shop, callback.billId],
        manager,
      );
      const refused = bill
        ? await this.repeats(manager, bill.intentId, callback, limits.maxPerBill)
        : await this.isFull(manager, callback, limits.maxUnmatched);
      if (refused) return bill ? 'repeated' : 'full';
      const now = this.maria.now();
      await this.maria.query(INSERT_CALLBACKS, [[callbackRow(callback, bill, now, now)]], manager);
      return bill ? 'matched' : 'unmatched';
    });
    return recorded === 'unmatched' && (await this.linkAfterwards(callback)) ? 'matched' : recorded;
  }

  override async retireWaiting(afterMs: number): Promise<void> {
    const long = `c.received_at < ${NOW} - $2::double precision * interval '1 millisecond'`;
    for (const [waiting, state] of [
      [`payment_acceptance.callback c WHERE c.pending = 1 AND c.bill_id IS NULL`, 't.bill_id IS NULL'],
      [
        `payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
         WHERE c.pending = 1 AND b.service_bill_id IS NULL`,
        't.bill_id IS NOT NULL',
      ],
    ] as const) {
      const found = await this.maria.query<{ id: string }>(`SELECT c.id FROM ${waiting} AND ${long} LIMIT 1000`, [
        this.maria.offsetMs,
        afterMs,
      ]);
      if (found.length === 0) continue;
      await this.maria.transaction(async (manager) => {
        const condition = `t.pending = 1 AND ${state}`;
        const ids = await this.maria.lockFree(
          manager,
          'callback',
          found.map(({ id }) => id),
          condition,
        );
        await this.maria.query(
          `UPDATE payment_acceptance.callback SET pending = false, consumed_at = ${NOW} WHERE id = ANY($2)`,
          [this.maria.offsetMs, ids],
          manager,
        );
      });
    }
  }

  /** Whether one that waits asks for the same; else makes room where the bill has enough. */
  private async repeats(manager: EntityManager, bill: string, told: NewCallback, most: number): Promise<boolean> {
    const [kept] = await this.maria.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (
         SELECT 1 FROM payment_acceptance.callback WHERE bill_id = $1 LIMIT ${most + 1}) kept`,
      [bill],
      manager,
    );
    const surplus = (kept?.count ?? 0) - most + 1;
    if (surplus <= 0) return false;
    const asserts = told.kind === 'postback' && /^(SUCCESS|FAIL)$/.test(told.status ?? '') ? told.status : '';
    const repeated = await this.maria.query(
      `SELECT 1 FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.bill_id = b.id
       WHERE b.id = $2 AND c.pending = 1 AND c.asks = 0 AND c.received_at <= ${NOW}
         AND (b.lease_token IS NULL OR c.received_at > b.check_after) AND $3 IN ('', ${ASSERTED_STATUS}) LIMIT 1`,
      [this.maria.offsetMs, bill, asserts],
      manager,
    );
    if (repeated.length > 0) return true;
    const replaced = await this.maria.query<{ id: string }>(
      `SELECT c.id FROM payment_acceptance.callback c WHERE c.bill_id = $1 AND c.pending = 0
       ORDER BY c.outcome <=> 'confirmed', c.received_at DESC LIMIT ${surplus} FOR UPDATE SKIP LOCKED`,
      [bill],
      manager,
    );
    await this.maria.remove(
      manager,
      'callback',
      replaced.map(({ id }) => id),
    );
    return false;
  }

  private async isFull(manager: EntityManager, { shop, forwarded }: NewCallback, most: number): Promise<boolean> {
    const [waiting] = await this.maria.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (
         SELECT 1 FROM payment_acceptance.callback c WHERE c.pending = 1 AND c.bill_id IS NULL AND c.shop = $1
           AND (c.corroboration ->> 'forwarded' <=> 'accepted') = $2 LIMIT ${most}) waiting`,
      [shop, forwarded === true],
      manager,
    );
    return (waiting?.count ?? 0) >= most;
  }

  /** As `linkLate` for PostgreSQL: a creation opens, commits, then links; a callback commits, then looks again. */
  private async linkAfterwards({ id, shop, intentId, billId }: NewCallback): Promise<boolean> {
    if (intentId !== null || billId === null) return false;
    const [bill] = await this.maria.query<{ id: string }>(
      `SELECT id FROM payment_acceptance.bill WHERE shop = $1 AND service_bill_id = $2`,
      [shop, billId],
    );
    if (!bill) return false;
    const linked = await this.maria.query(
      `UPDATE payment_acceptance.callback SET bill_id = $2 WHERE id = $1 AND bill_id IS NULL`,
      [id, bill.id],
    );
    return linked.length > 0;
  }
}
