import { Injectable } from '@nestjs/common';
import { maskCards } from '../../common/redact.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { ErasedBill, ErasedPart } from '../records.js';
import { Database } from '../../database/database.js';
import { redactableCallbacks } from '../../callbacks/storage/callback.store.js';
import { remove, type Redactable } from '../../database/redactable.js';
import { markRedacted, redactableNotes, redactableParts } from '../../retention/storage/redaction.js';
import { sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export interface OrderKey {
  readonly shop: string;
  readonly orderId: OrderId;
}

@Injectable()
export class ErasureStore {
  constructor(private readonly database: Database) {}

  billsOf({ shop, orderId }: OrderKey, tx?: OwnTransaction): Promise<ErasedBill[]> {
    return (tx ?? this.database).rows<ErasedBill>({})`SELECT b.intent_id AS "intentId", b.bill_id AS "billId", b.state
      FROM payment_acceptance.bill b WHERE b.shop = ${shop} AND b.order_id = ${orderId} ORDER BY b.attempt`;
  }

  openReviews(tx: OwnTransaction, intentIds: readonly IntentId[]): Promise<string[]> {
    return tx.ids`SELECT id FROM payment_acceptance.review WHERE ${this.ofIntents(intentIds)} AND state = 'OPEN'`;
  }

  /** Returns how many records of each part were changed. */
  async erase(tx: OwnTransaction, order: OrderKey, bills: readonly ErasedBill[]): Promise<Record<ErasedPart, number>> {
    const ids = bills.map(({ intentId }) => intentId);
    // Marking locks the bills: a concurrent write comes either before or after the removal.
    await markRedacted(this.database, ids, tx);
    const numbers: [string, number][] = [];
    for (const [name, part] of Object.entries(await this.partsOf(tx, order, bills))) {
      numbers.push([name, await remove(part, tx)]);
    }
    return Object.fromEntries(numbers) as Record<ErasedPart, number>;
  }

  private async partsOf(
    tx: OwnTransaction,
    { shop, orderId }: OrderKey,
    bills: readonly ErasedBill[],
  ): Promise<Record<ErasedPart, Redactable>> {
    const { dialect } = this.database;
    const intentIds = bills.map(({ intentId }) => intentId);
    const billIds = bills.flatMap(({ billId }) => billId ?? []);
    const targets = [...intentIds, ...(await this.targets(tx, intentIds, billIds, { shop, orderId }))];
    const named = dialect.jsonText('detail', 'shop');
    const ofOrder = sql`${dialect.jsonText('detail', 'orderId')} = ${orderId} AND coalesce(${named}, ${shop}) = ${shop}`;
    return {
      ...redactableParts(dialect, intentIds),
      waitingCallbacks: redactableCallbacks(
        sql`shop = ${shop} AND order_id = ${maskCards(orderId)} AND pending = TRUE AND intent_id IS NULL`,
      ),
      lostBills: {
        table: sql`payment_acceptance.lost_bill`,
        condition: sql`shop = ${shop} AND bill_id ${dialect.oneOf(billIds, 'text')} AND payments IS NOT NULL`,
        change: sql`payments = NULL`,
      },
      notes: redactableNotes(dialect, sql`(target ${dialect.oneOf(targets, 'text')} OR ${ofOrder})`),
    };
  }

  /**
   * Possible targets of operators' actions: reviews of these bills, and dismissed lost bills that are among them or
   * whose postback named the order.
   */
  private async targets(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    billIds: readonly BillId[],
    { shop, orderId }: OrderKey,
  ): Promise<string[]> {
    const { text, oneOf } = this.database.dialect;
    const reviews =
      await tx.ids`SELECT ${text('id')} AS id FROM payment_acceptance.review WHERE ${this.ofIntents(intentIds)}`;
    const lost = await tx.ids`SELECT ${text('id')} AS id FROM payment_acceptance.lost_bill
      WHERE shop = ${shop} AND (order_id = ${maskCards(orderId)} OR bill_id ${oneOf(billIds, 'text')})
      AND state = 'DISMISSED'`;
    return [...reviews, ...lost];
  }

  private ofIntents(intentIds: readonly IntentId[]): Statement {
    return sql`intent_id ${this.database.dialect.oneOf(intentIds, 'uuid')}`;
  }
}
