import { CheckStore, isFreeAt, HINTS_PER_CLAIMED_BILL, type ClaimLimits } from '../check.store.js';
import { PROBE_MS } from '../shop.store.js';
import { flag, integer } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';
import type { ClaimedBill } from '../../../domain/claim.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

interface RequestBudget {
  /** The time from which the next requests count against the rate, as text. */
  readonly start: string;
  readonly refused: boolean;
  readonly most: number;
}

/** A clock that was set back restarts the rate. */
function rateStart(now: Statement): Statement {
  return sql`CASE WHEN next_request_at BETWEEN ${now} - INTERVAL 1 SECOND AND ${now} + INTERVAL 1 SECOND
    THEN next_request_at ELSE ${now} - INTERVAL 1 SECOND END`;
}

export class MariaCheckStore extends CheckStore<MariaDatabase> {
  /** Locks the shop's row while its bills are claimed: another instance skips it, and polls again later. */
  override async claim(shop: string, token: string, limits: ClaimLimits): Promise<readonly ClaimedBill[]> {
    const bills = await this.database.transaction(async (tx) => {
      const budget = await this.budget(tx, shop, limits);
      if (!budget || budget.most <= 0) return [];
      const due = await this.due(tx, shop, token, limits.limit);
      const maxBills = Math.min(limits.limit, budget.most);
      const takenIds: string[] = [];
      // A bill that a settlement has locked is skipped in favour of the next.
      for (let from = 0; from < due.length && takenIds.length < maxBills;) {
        const next = due.slice(from, from + maxBills - takenIds.length);
        from += next.length;
        takenIds.push(...(await this.database.lockFree(tx, 'bill', next, isFreeAt(this.database.now(), 't'))));
      }
      if (takenIds.length === 0) return [];
      await tx.change`UPDATE payment_acceptance.shop_state
        SET next_request_at = TIMESTAMPADD(MICROSECOND, ${takenIds.length} * 1000000 DIV ${limits.requestsPerSecond}, ${budget.start}),
          probe_at = CASE WHEN ${budget.refused} THEN ${this.database.now(PROBE_MS)} END
        WHERE shop = ${shop}`;
      return this.lease(tx, takenIds, token, limits.leaseMs, budget.refused);
    });
    return this.withHints(bills);
  }

  private async budget(tx: OwnTransaction, shop: string, limits: ClaimLimits): Promise<RequestBudget | undefined> {
    const now = this.database.now();
    const start = rateStart(now);
    const [budget] = await tx.rows<RequestBudget>({ refused: flag, most: integer })`
      SELECT CAST(${start} AS CHAR) AS start, refused_since IS NOT NULL AS refused, CASE
          WHEN refused_since IS NULL
            THEN TIMESTAMPDIFF(MICROSECOND, ${start}, ${now}) * ${limits.requestsPerSecond} DIV 1000000
          WHEN probe_at <= ${now} OR probe_at > ${this.database.now(PROBE_MS)} THEN 1 ELSE 0 END AS most
      FROM payment_acceptance.shop_state WHERE shop = ${shop} FOR UPDATE SKIP LOCKED`;
    return budget;
  }

  /** Takes hinted and scheduled bills alternately, at random where both have the same turn. */
  private due(tx: OwnTransaction, shop: string, token: string, limit: number): Promise<string[]> {
    const now = this.database.now();
    const free = isFreeAt(now);
    return tx.ids`SELECT intent_id AS id FROM (
        (SELECT b.intent_id, ROW_NUMBER() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
         WHERE b.shop = ${shop} AND b.next_check_at <= ${now} AND ${free} ORDER BY b.next_check_at LIMIT ${limit})
        UNION ALL
        (SELECT intent_id, ROW_NUMBER() OVER (ORDER BY MIN(due_at)) FROM (
           SELECT b.intent_id, c.due_at FROM payment_acceptance.callback c FORCE INDEX (callback_due)
           JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
           WHERE c.pending = 1 AND c.shop = ${shop} AND c.due_at <= ${now} AND b.shop = ${shop} AND ${free}
           ORDER BY c.due_at LIMIT ${limit * HINTS_PER_CLAIMED_BILL}) earliest
         GROUP BY intent_id ORDER BY MIN(due_at) LIMIT ${limit})) every
      GROUP BY intent_id ORDER BY MIN(turn), MD5(CONCAT(intent_id, ${token}))`;
  }
}
