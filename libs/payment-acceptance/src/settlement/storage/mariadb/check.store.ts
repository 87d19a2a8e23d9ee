import type { HintedBill } from '../../../common/wake-ups.js';
import type { Hint } from '../../../domain/callback.js';
import type { ClaimedBill } from '../../../domain/claim.js';
import type { IntentId } from '../../../domain/ids.js';
import { isUuid } from '../../../domain/uuid.js';
import { assertedStatus } from '../../../callbacks/storage/callback.store.js';
import {
  CheckStore,
  CLAIMED_BILL_READERS,
  claimedColumns,
  isFreeAt,
  HINTS_PER_CLAIMED_BILL,
  MAX_HINTS_PER_CHECK,
  type ClaimedBillRow,
  type ClaimedBills,
  type ClaimLimits,
} from '../check.store.js';
import { flag, instant, integer, type ColumnReaders } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';
import { mariadb } from '../../../database/mariadb/dialect.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

type HintOfBill = Hint & { readonly intentId: IntentId };

const HINT_READERS: ColumnReaders<HintOfBill> = { expectsSuccess: flag, receivedAt: instant, asks: integer, due: flag };

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
  override async claim(
    shop: string,
    token: string,
    limits: ClaimLimits,
    named?: readonly HintedBill[],
  ): Promise<ClaimedBills> {
    let isSpent = false;
    const bills = await this.database.transaction(async (tx) => {
      const budget = await this.budget(tx, shop, limits);
      isSpent = budget !== undefined && budget.most <= 0;
      if (!budget || budget.most <= 0) return [];
      const due = named ? await this.freeOf(tx, shop, named) : await this.due(tx, shop, token, limits.limit);
      const maxBills = Math.min(limits.limit, budget.most);
      const takenIds: string[] = [];
      // A bill that a settlement has locked is skipped in favour of the next.
      for (let from = 0; from < due.length && takenIds.length < maxBills;) {
        const next = due.slice(from, from + maxBills - takenIds.length);
        from += next.length;
        takenIds.push(...(await this.database.lockFree(tx, 'bill', next, isFreeAt(this.database.now(), 't'))));
      }
      isSpent = takenIds.length >= budget.most;
      if (takenIds.length === 0) return [];
      await tx.change`UPDATE payment_acceptance.shop_state
        SET next_request_at = TIMESTAMPADD(MICROSECOND, ${takenIds.length} * 1000000 DIV ${limits.requestsPerSecond}, ${budget.start}),
          probe_at = CASE WHEN ${budget.refused} THEN ${this.database.now(limits.probeMs)} END
        WHERE shop = ${shop}`;
      return this.lease(tx, takenIds, token, limits.leaseMs, budget.refused);
    });
    return { bills: await this.withHints(bills), isSpent };
  }

  override async claimOne(
    shop: string,
    bill: string,
    token: string,
    leaseMs: number,
  ): Promise<ClaimedBill | 'busy' | 'unknown'> {
    const claimed = await this.database.transaction(async (tx) => {
      // The candidates are looked up without a lock: locking by another index first and then by the key could deadlock
      // with a settlement, which locks the other way round.
      const candidates = await tx.rows<{ intentId: string }>({})`
        SELECT intent_id AS "intentId" FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id IS NOT NULL
        AND (bill_id = ${bill} OR intent_id = ${isUuid(bill) ? bill : null})`;
      const [locked] = await tx.rows<{ intentId: string; free: boolean; refused: boolean }>({
        free: flag,
        refused: flag,
      })`
        SELECT b.intent_id AS "intentId", b.lease_until IS NULL OR b.lease_until < ${this.database.now()} AS free, EXISTS (
          SELECT 1 FROM payment_acceptance.shop_state s WHERE s.shop = b.shop AND s.refused_since IS NOT NULL) AS refused
        FROM payment_acceptance.bill b FORCE INDEX (PRIMARY) WHERE b.intent_id IN (${candidates.map(({ intentId }) => intentId)}) FOR UPDATE`;
      if (!locked) return 'unknown';
      if (!locked.free) return 'busy';
      return this.lease(tx, [locked.intentId], token, leaseMs, locked.refused);
    });
    if (typeof claimed === 'string') return claimed;
    const [claimedBill] = await this.withHints(claimed);
    return claimedBill ?? 'unknown';
  }

  private async budget(tx: OwnTransaction, shop: string, limits: ClaimLimits): Promise<RequestBudget | undefined> {
    const { requestsPerSecond, probeMs } = limits;
    const now = this.database.now();
    const start = rateStart(now);
    const [budget] = await tx.rows<RequestBudget>({ refused: flag, most: integer })`
      SELECT CAST(${start} AS CHAR) AS start, refused_since IS NOT NULL AS refused, CASE
          WHEN refused_since IS NULL
            THEN TIMESTAMPDIFF(MICROSECOND, ${start}, ${now}) * ${requestsPerSecond} DIV 1000000
          WHEN probe_at <= ${now} OR probe_at > ${this.database.now(probeMs)} THEN 1 ELSE 0 END AS most
      FROM payment_acceptance.shop_state WHERE shop = ${shop} FOR UPDATE SKIP LOCKED`;
    return budget;
  }

  /** Takes hinted and scheduled bills alternately, at random where both have the same turn. */
  private async due(tx: OwnTransaction, shop: string, token: string, limit: number): Promise<string[]> {
    const now = this.database.now();
    const free = isFreeAt(now);
    const rows = await tx.rows<{ intentId: string }>({})`SELECT intent_id AS "intentId" FROM (
        (SELECT b.intent_id, ROW_NUMBER() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
         WHERE b.shop = ${shop} AND b.next_check_at <= ${now} AND ${free} ORDER BY b.next_check_at LIMIT ${limit})
        UNION ALL
        (SELECT intent_id, ROW_NUMBER() OVER (ORDER BY MIN(due_at)) FROM (
           SELECT b.intent_id, c.due_at FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
           WHERE c.pending = 1 AND c.shop = ${shop} AND c.due_at <= ${now} AND b.shop = ${shop} AND ${free}
           ORDER BY c.due_at LIMIT ${limit * HINTS_PER_CLAIMED_BILL}) earliest
         GROUP BY intent_id ORDER BY MIN(due_at) LIMIT ${limit})) every
      GROUP BY intent_id ORDER BY MIN(turn), MD5(CONCAT(intent_id, ${token}))`;
    return rows.map(({ intentId }) => intentId);
  }

  private async freeOf(tx: OwnTransaction, shop: string, named: readonly HintedBill[]): Promise<string[]> {
    const freeBy = (key: 'billId' | 'intentId', column: Statement): Statement => {
      const ids = named.flatMap((bill) => bill[key] ?? []);
      return sql`SELECT b.intent_id AS "intentId" FROM payment_acceptance.bill b
        WHERE b.shop = ${shop} AND ${column} ${mariadb.oneOf(ids, 'text')} AND ${isFreeAt(this.database.now())}`;
    };
    const rows = await tx.rows<{ intentId: string }>({})`
      ${freeBy('billId', sql`b.bill_id`)} UNION ${freeBy('intentId', sql`b.intent_id`)} ORDER BY 1`;
    return rows.map(({ intentId }) => intentId);
  }

  /** The bills must be locked. */
  private async lease(
    tx: OwnTransaction,
    ids: readonly string[],
    token: string,
    leaseMs: number,
    shopRefused: boolean,
  ): Promise<ClaimedBillRow[]> {
    const now = this.database.now();
    await tx.change`
      UPDATE payment_acceptance.bill SET lease_token = ${token}, lease_until = ${this.database.now(leaseMs)}, check_after = ${now}
      WHERE intent_id IN (${ids})`;
    return tx.rows(CLAIMED_BILL_READERS)`
      SELECT ${claimedColumns(mariadb, now)}, coalesce(b.next_check_at <= ${now}, false) AS scheduled,
        ${shopRefused} AS "shopRefused"
      FROM payment_acceptance.bill b WHERE b.intent_id IN (${ids})`;
  }

  private async withHints(bills: readonly ClaimedBillRow[]): Promise<ClaimedBill[]> {
    if (bills.length === 0) return [];
    const hints = await this.hintsOf(bills.map(({ intentId }) => intentId)).catch(async (error: unknown) => {
      // The bills are already leased, but will not be checked.
      await Promise.all(bills.map((bill) => this.releaseLease(bill)));
      throw error;
    });
    return bills.map((bill) => ({ ...bill, hints: hints.filter(({ intentId }) => intentId === bill.intentId) }));
  }

  /**
   * The hints that came before the claim. A later hint must cause another check: storing a callback relies on that. The
   * earliest due of each bill come first, so that none waits behind hints that are not due yet.
   */
  private hintsOf(intentIds: readonly IntentId[]): Promise<HintOfBill[]> {
    return this.database.rows(HINT_READERS)`SELECT id, intentId, asserts, expectsSuccess, receivedAt, asks, due FROM (
        SELECT c.id, c.intent_id AS intentId, ${assertedStatus('c.kind', 'c.status')} AS asserts,
          c.kind = 'redirect-success' AS expectsSuccess,
          ${mariadb.epochMs('c.received_at')} AS receivedAt, c.asks, c.due_at <= ${this.database.now()} AS due, c.due_at,
          ROW_NUMBER() OVER (PARTITION BY c.intent_id ORDER BY c.due_at) AS place
        FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.intent_id = b.intent_id
        WHERE b.intent_id IN (${intentIds}) AND c.pending = 1 AND c.received_at <= b.check_after) hint
      WHERE place <= ${MAX_HINTS_PER_CHECK} ORDER BY due_at`;
  }
}
