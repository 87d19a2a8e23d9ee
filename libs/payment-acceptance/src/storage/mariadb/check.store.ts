import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { AnsweredHints, Hint } from '../../domain/callback.js';
import type { ClaimedBill } from '../../domain/claim.js';
import { isUuid } from '../../domain/uuid.js';
import { ASSERTED_STATUS } from '../callback.store.js';
import { CheckStore, freeAt, HINTS_PER_BILL, type ClaimedBillRow, type ClaimLimits } from '../check.store.js';
import { NOW, epochMs, inMs, instant, type Texts } from '../sql.js';
import type { MariaDatabase } from './maria.database.js';
import type { IntentId } from '../../domain/ids.js';

interface Budget {
  /** From when on the rate is counted, as text. */
  readonly start: string;
  readonly refused: boolean;
  readonly most: number;
}

const HINTS_OF_A_CLAIM = 4;

/** A clock that was set back starts the rate anew. */
const RATE_START = `CASE WHEN next_request_at BETWEEN ${NOW} - interval '1 second' AND ${NOW} + interval '1 second'
  THEN next_request_at ELSE ${NOW} - interval '1 second' END`;

const FREE = freeAt(NOW);

@Injectable()
export class MariaCheckStore extends CheckStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  /** The row of the shop is held while its bills are claimed, so instances claim one after the other. */
  override async claim(shop: string, token: string, limits: ClaimLimits): Promise<ClaimedBill[]> {
    const bills = await this.maria.transaction(async (manager) => {
      const budget = await this.budget(manager, shop, limits);
      if (!budget || budget.most <= 0) return [];
      const due = await this.due(manager, shop, token, limits.limit);
      const taken: string[] = [];
      // A bill that a settlement has locked leaves its place to the next.
      for (let from = 0; from < due.length && taken.length < budget.most;) {
        const next = due.slice(from, from + budget.most - taken.length);
        from += next.length;
        taken.push(...(await this.maria.lockFree(manager, 'bill', next, FREE.replaceAll('b.', 't.'))));
      }
      if (taken.length === 0) return [];
      await this.maria.query(
        `UPDATE payment_acceptance.shop_state SET next_request_at = TIMESTAMPADD(MICROSECOND, $2 * 1000000 DIV $3, $4),
           probe_at = CASE WHEN $5 THEN ${inMs('$6')} END WHERE shop = $7`,
        [
          this.maria.offsetMs,
          taken.length,
          limits.requestsPerSecond,
          budget.start,
          budget.refused,
          limits.probeMs,
          shop,
        ],
        manager,
      );
      return this.lease(manager, taken, token, limits.leaseMs, budget.refused);
    });
    return this.withHints(bills);
  }

  override async claimOne(
    shop: string,
    bill: string,
    token: string,
    leaseMs: number,
  ): Promise<ClaimedBill | 'busy' | 'unknown'> {
    const claimed = await this.maria.transaction(async (manager) => {
      const [found] = await this.maria.query<{ id: string; refused: boolean; free: unknown }>(
        `SELECT b.id, b.lease_until IS NULL OR b.lease_until < ${NOW} AS free, EXISTS (
           SELECT 1 FROM payment_acceptance.shop_state s WHERE s.shop = b.shop AND s.refused_since IS NOT NULL) AS refused
         FROM payment_acceptance.bill b WHERE b.shop = $2 AND b.service_bill_id IS NOT NULL
           AND (b.service_bill_id = $3 OR b.id = $4) FOR UPDATE`,
        [this.maria.offsetMs, shop, bill, isUuid(bill) ? bill : null],
        manager,
      );
      if (!found) return 'unknown';
      if (Number(found.free) !== 1) return 'busy';
      return this.lease(manager, [found.id], token, leaseMs, found.refused);
    });
    if (typeof claimed === 'string') return claimed;
    const [own] = await this.withHints(claimed);
    return own ?? 'unknown';
  }

  override async answerHints({ consumed, again }: AnsweredHints, manager?: EntityManager): Promise<void> {
    for (const [outcome, ids] of groups(consumed, (hint) => hint.outcome)) {
      await this.maria.query(
        `UPDATE payment_acceptance.callback SET pending = false, consumed_at = ${NOW}, outcome = $2 WHERE id = ANY($3)`,
        [this.maria.offsetMs, outcome, ids],
        manager,
      );
    }
    for (const [pauseMs, ids] of groups(again, (hint) => hint.pauseMs)) {
      await this.maria.query(
        `UPDATE payment_acceptance.callback SET asks = asks + 1, due_at = ${inMs('$2')} WHERE id = ANY($3)`,
        [this.maria.offsetMs, pauseMs, ids],
        manager,
      );
    }
  }

  private async budget(manager: EntityManager, shop: string, limits: ClaimLimits): Promise<Budget | undefined> {
    const [budget] = await this.maria.query<Budget>(
      `SELECT CAST(${RATE_START} AS CHAR) AS start, refused_since IS NOT NULL AS refused, CASE
           WHEN refused_since IS NULL THEN LEAST($3, TIMESTAMPDIFF(MICROSECOND, ${RATE_START}, ${NOW}) * $4 DIV 1000000)
           WHEN probe_at <= ${NOW} OR probe_at > ${inMs('$5')} THEN 1 ELSE 0 END::int AS most
       FROM payment_acceptance.shop_state WHERE shop = $2 FOR UPDATE SKIP LOCKED`,
      [this.maria.offsetMs, shop, limits.limit, limits.requestsPerSecond, limits.probeMs],
      manager,
    );
    return budget;
  }

  /** Hinted and scheduled bills in turns, by lot where it is the turn of both. */
  private async due(manager: EntityManager, shop: string, token: string, limit: number): Promise<string[]> {
    const rows = await this.maria.query<{ id: string }>(
      `SELECT id FROM (
         (SELECT b.id, ROW_NUMBER() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
          WHERE b.shop = $2 AND b.next_check_at <= ${NOW} AND ${FREE} ORDER BY b.next_check_at LIMIT $3)
         UNION ALL
         (SELECT id, ROW_NUMBER() OVER (ORDER BY MIN(due_at)) FROM (
            SELECT b.id, c.due_at FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
            WHERE c.pending = 1 AND c.shop = $2 AND c.due_at <= ${NOW} AND b.shop = $2 AND ${FREE}
            ORDER BY c.due_at LIMIT $4) earliest
          GROUP BY id ORDER BY MIN(due_at) LIMIT $3)) every
       GROUP BY id ORDER BY MIN(turn), MD5(CONCAT(id, $5))`,
      [this.maria.offsetMs, shop, limit, limit * HINTS_OF_A_CLAIM, token],
      manager,
    );
    return rows.map(({ id }) => id);
  }

  /** Of bills that are locked. */
  private async lease(
    manager: EntityManager,
    ids: readonly string[],
    token: string,
    leaseMs: number,
    shopRefused: boolean,
  ): Promise<ClaimedBillRow[]> {
    await this.maria.query(
      `UPDATE payment_acceptance.bill SET lease_token = $2, lease_until = ${inMs('$3')}, check_after = ${NOW}
       WHERE id = ANY($4)`,
      [this.maria.offsetMs, token, leaseMs, ids],
      manager,
    );
    const rows = await this.maria.query<ClaimedBillRow>(
      `SELECT b.id AS "intentId", b.shop, b.order_id AS "orderId", b.service_bill_id AS "billId", b.lease_token AS token,
         b.failed_checks AS "failedChecks", b.state, ${epochMs('b.opened_at')} AS "openedAt",
         ${epochMs('b.paid_at')} AS "paidAt", ${epochMs('b.ended_at')} AS "endedAt", ${epochMs(NOW)} AS now, b.traceparent,
         coalesce(b.next_check_at <= ${NOW}, false) AS scheduled
       FROM payment_acceptance.bill b WHERE b.id = ANY($2)`,
      [this.maria.offsetMs, ids],
      manager,
    );
    return rows.map((row) => ({ ...row, shopRefused }));
  }

  protected override async hintsOf(intentIds: readonly IntentId[]): Promise<(Hint & { intentId: IntentId })[]> {
    const hints = await this.maria.query<Texts<Hint & { intentId: IntentId }, 'receivedAt'>>(
      `SELECT id, "intentId", asserts, "receivedAt", asks, due FROM (
         SELECT c.id, c.bill_id AS "intentId", ${ASSERTED_STATUS('c.kind', 'c.status')} AS asserts,
           ${epochMs('c.received_at')} AS "receivedAt", c.asks, c.due_at <= ${NOW} AS due, c.due_at,
           ROW_NUMBER() OVER (PARTITION BY c.bill_id ORDER BY c.due_at) AS place
         FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.bill_id = b.id
         WHERE b.id = ANY($2) AND c.pending = 1 AND c.received_at <= b.check_after) hint
       WHERE place <= ${HINTS_PER_BILL} ORDER BY due_at`,
      [this.maria.offsetMs, intentIds],
    );
    return hints.map((hint) => ({ ...hint, receivedAt: instant(hint.receivedAt) }));
  }
}

/** Ids by what is written of them. */
function groups<T extends { readonly id: string }, K>(all: readonly T[], by: (one: T) => K): Map<K, string[]> {
  const groups = new Map<K, string[]>();
  for (const one of all) groups.set(by(one), [...(groups.get(by(one)) ?? []), one.id]);
  return groups;
}
