import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { NewEvent, Settlement } from '../../domain/settlement.js';
import { isUniqueViolation } from '../database.js';
import { SettlementWriter } from '../settlement.writer.js';
import { NOW, inMs } from '../sql.js';
import { MariaCheckStore } from './check.store.js';
import type { MariaDatabase } from './maria.database.js';

/** Statement by statement, in the transaction that it is given: MariaDB has no WITH that writes. */
@Injectable()
export class MariaSettlementWriter extends SettlementWriter {
  private readonly checks: MariaCheckStore;

  constructor(private readonly maria: MariaDatabase) {
    super(maria);
    this.checks = new MariaCheckStore(maria);
  }

  override async write(
    manager: EntityManager,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<{ id: string; deliveries: number }[]> {
    await this.openReviews(manager, settlements);
    await this.upsertPayments(manager, settlements);
    for (const { bill, firstPaymentId } of settlements) {
      if (firstPaymentId !== null) {
        await this.maria.query(
          `UPDATE payment_acceptance.shop_order SET first_payment_id = $2, first_paid_at = ${NOW}
           WHERE shop = $3 AND order_id = $4 AND first_payment_id IS NULL`,
          [this.maria.offsetMs, firstPaymentId, bill.shop, bill.orderId],
          manager,
        );
      }
    }
    for (const settlement of settlements) await this.endCheck(manager, settlement, minGapMs);
    const consumed = settlements.flatMap(({ hints }) => hints.consumed);
    await this.checks.answerHints({ consumed, again: [] }, manager);
    const added: { id: string; deliveries: number }[] = [];
    for (const settlement of settlements) {
      for (const event of settlement.events) {
        if (!(await this.addEvent(manager, settlement, event))) continue;
        const deliveries = await this.maria.query(
          `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, bill_id, consumer, state, due_at)
           SELECT e.id, e.name, e.seq, e.bill_id, c.name, 'PENDING', ${NOW}
           FROM payment_acceptance.event e JOIN payment_acceptance.consumer c ON c.event_name = e.name
             AND (c.shops IS NULL OR JSON_CONTAINS(c.shops, JSON_QUOTE(e.shop))) WHERE e.id = $2`,
          [this.maria.offsetMs, event.id],
          manager,
        );
        added.push({ id: event.id, deliveries: deliveries.length });
      }
    }
    return added;
  }

  /** Opens each review once; one that a person has closed stays closed. */
  private async openReviews(manager: EntityManager, settlements: readonly Settlement[]): Promise<void> {
    const now = this.maria.now();
    const rows = settlements.flatMap(({ bill, reviews }) =>
      reviews.map(({ id, key, paymentId, reason, detail }) => {
        const { shop, orderId, intentId } = bill;
        return [id, key, shop, orderId, intentId, paymentId, reason, JSON.stringify(detail), 'OPEN', now];
      }),
    );
    if (rows.length === 0) return;
    await this.maria.query(
      `INSERT INTO payment_acceptance.review
         (id, "key", shop, order_id, bill_id, payment_id, reason, detail, state, opened_at) VALUES $1
       ON DUPLICATE KEY UPDATE id = id`,
      [rows.sort(byText(1))],
      manager,
    );
  }

  /** `changed_at` first: what follows it there sees the new status already. */
  private async upsertPayments(manager: EntityManager, settlements: readonly Settlement[]): Promise<void> {
    const now = this.maria.now();
    const rows = settlements.flatMap(({ bill, payments }) =>
      payments.map((p) => [
        ...[bill.shop, p.paymentId, p.intentId, p.status, p.amount, p.amountReceived, p.commission, p.currency],
        ...[p.fromCard, p.createdAtText, p.statusText, p.verdict, now, now],
      ]),
    );
    if (rows.length === 0) return;
    const kept = ['status', 'amount', 'amount_received', 'commission', 'currency', 'from_card', 'service_status'];
    await this.maria.query(
      `INSERT INTO payment_acceptance.payment (shop, payment_id, bill_id, status, amount, amount_received, commission,
         currency, from_card, service_created_at, service_status, verdict, first_seen_at, changed_at) VALUES $1
       ON DUPLICATE KEY UPDATE changed_at = CASE WHEN status = VALUES(status) THEN changed_at ELSE VALUES(changed_at) END,
         ${[...kept, 'verdict'].map((column) => `${column} = VALUES(${column})`).join(', ')}`,
      [rows.sort((a, b) => byText(0)(a, b) || byText(1)(a, b))],
      manager,
    );
  }

  /** `state` last: what stands before it compares with the old one. */
  private async endCheck(manager: EntityManager, { bill, change }: Settlement, minGapMs: number): Promise<void> {
    if (!change) return;
    const { state, scheduled, nextCheckAt } = change;
    await this.maria.query(
      `UPDATE payment_acceptance.bill SET next_check_at = to_timestamp($3 / 1000), check_after = ${inMs('$2')},
         checks = checks + $4, failed_checks = 0, checked_at = ${NOW}, last_check_error = NULL, lease_token = NULL,
         lease_until = NULL, ${state === 'PAID' ? `paid_at = coalesce(paid_at, ${NOW}),` : ''}
         ended_at = CASE WHEN state = $5 THEN ended_at ELSE ${NOW} END, state = $5 WHERE id = $6`,
      [this.maria.offsetMs, minGapMs, nextCheckAt?.getTime() ?? null, scheduled ? 1 : 0, state, bill.intentId],
      manager,
    );
  }

  /** `false` where the event is there already; two that meet are told apart by its unique key. */
  private async addEvent(
    manager: EntityManager,
    { bill, traceparent }: Settlement,
    { id, key, name, payload }: NewEvent,
  ): Promise<boolean> {
    const known = await this.maria.query(`SELECT 1 FROM payment_acceptance.event WHERE "key" = $1`, [key], manager);
    if (known.length > 0) return false;
    try {
      await this.maria.query(
        `INSERT INTO payment_acceptance.event (id, "key", name, shop, bill_id, payload, traceparent, occurred_at)
         VALUES ($2, $3, $4, $5, $6, $7, $8, ${NOW})`,
        [this.maria.offsetMs, id, key, name, bill.shop, bill.intentId, JSON.stringify(payload), traceparent],
        manager,
      );
      return true;
    } catch (error) {
      // The statement alone is undone, not the transaction.
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  }
}

function byText(column: number): (a: unknown[], b: unknown[]) => number {
  return (a, b) => (String(a[column]) < String(b[column]) ? -1 : String(a[column]) > String(b[column]) ? 1 : 0);
}
