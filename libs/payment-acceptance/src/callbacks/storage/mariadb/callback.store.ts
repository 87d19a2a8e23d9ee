import { Injectable } from '@nestjs/common';
import { assertedStatus } from '../assertion.js';
import {
  CallbackStore,
  type NewCallback,
  type OpenedBill,
  type Recorded,
  type RecordLimits,
} from '../callback.store.js';
import { integer } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';
import { callbackRow, insertCallbacks, readOwnBills } from './callback-rows.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

@Injectable()
export class MariaCallbackStore extends CallbackStore {
  constructor(protected override readonly database: MariaDatabase) {
    super(database);
  }

  override async record(callback: NewCallback, limits: RecordLimits): Promise<Recorded> {
    const { intentId, shop, billId } = callback;
    const recorded = await this.database.transaction(async (tx) => {
      const [bill] = await readOwnBills(
        this.database,
        tx,
        intentId === null ? sql`b.shop = ${shop} AND b.bill_id = ${billId}` : sql`b.intent_id = ${intentId}`,
      );
      const refused = bill
        ? await this.repeats(tx, bill.intentId, callback, limits.maxPerBill)
        : await this.isFull(tx, callback, limits.maxUnmatched);
      if (refused) return bill ? 'repeated' : 'full';
      await insertCallbacks(this.database, tx, [callbackRow(callback, bill, this.now(), this.now())]);
      return bill ? 'matched' : 'unmatched';
    });
    return recorded === 'unmatched' && (await this.linkAfterwards(callback)) ? 'matched' : recorded;
  }

  override async linkWaiting(bill: OpenedBill): Promise<void> {
    await this.database.transaction((tx) =>
      this.database.change(
        sql`UPDATE payment_acceptance.callback SET intent_id = ${bill.intentId}
         WHERE pending = 1 AND shop = ${bill.shop} AND bill_id = ${bill.billId} AND intent_id IS NULL`,
        tx,
      ),
    );
  }

  /** Whether a pending callback requests the same check; if not, makes room if the bill has enough callbacks. */
  private async repeats(tx: OwnTransaction, bill: string, told: NewCallback, most: number): Promise<boolean> {
    const [kept] = await this.database.rows<{ count: number }>(
      sql`SELECT count(*) AS count FROM (
         SELECT 1 FROM payment_acceptance.callback WHERE intent_id = ${bill} LIMIT ${most + 1}) kept`,
      { count: integer },
      tx,
    );
    const surplus = (kept?.count ?? 0) - most + 1;
    if (surplus <= 0) return false;
    const asserts = told.kind === 'postback' && /^(SUCCESS|FAIL)$/.test(told.status ?? '') ? told.status : '';
    const repeated = await this.database.rows(
      sql`SELECT 1 FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.intent_id = b.intent_id
       WHERE b.intent_id = ${bill} AND c.pending = 1 AND c.asks = 0 AND c.received_at <= ${this.now()}
         AND (b.lease_token IS NULL OR c.received_at > b.check_after)
         AND ${asserts} IN ('', ${assertedStatus('c.kind', 'c.status')}) LIMIT 1`,
      {},
      tx,
    );
    if (repeated.length > 0) return true;
    const replaced = await this.database.rows<{ id: string }>(
      sql`SELECT c.id FROM payment_acceptance.callback c WHERE c.intent_id = ${bill} AND c.pending = 0
       ORDER BY c.outcome <=> 'confirmed', c.received_at DESC LIMIT ${surplus} FOR UPDATE SKIP LOCKED`,
      {},
      tx,
    );
    await this.database.delete(
      tx,
      'callback',
      replaced.map(({ id }) => id),
    );
    return false;
  }

  private async isFull(tx: OwnTransaction, { shop }: NewCallback, most: number): Promise<boolean> {
    if (most === 0) return true;
    const [waiting] = await this.database.rows<{ count: number }>(
      sql`SELECT count(*) AS count FROM (
         SELECT 1 FROM payment_acceptance.callback c WHERE c.pending = 1 AND c.intent_id IS NULL AND c.shop = ${shop}
         LIMIT ${most}) waiting`,
      { count: integer },
      tx,
    );
    return (waiting?.count ?? 0) >= most;
  }

  /** Like `linkLate` for PostgreSQL: a creation opens, commits, then links; a callback commits, then looks again. */
  private async linkAfterwards({ id, shop, intentId, billId }: NewCallback): Promise<boolean> {
    if (intentId !== null || billId === null) return false;
    const [bill] = await this.database.rows<{ intentId: string }>(
      sql`SELECT intent_id AS "intentId" FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`,
      {},
    );
    if (!bill) return false;
    const linked = await this.database.change(
      sql`UPDATE payment_acceptance.callback SET intent_id = ${bill.intentId} WHERE id = ${id} AND intent_id IS NULL`,
    );
    return linked > 0;
  }

  private now(): Statement {
    return this.database.dialect.now(this.database.offsetMs);
  }
}
