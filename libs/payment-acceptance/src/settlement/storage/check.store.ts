import type { AnsweredHints, Hint } from '../../domain/callback.js';
import type { ClaimedBill } from '../../domain/claim.js';
import type { IntentId } from '../../domain/ids.js';
import { isUuid } from '../../domain/uuid.js';
import { assertedStatus } from '../../callbacks/storage/callback.store.js';
import type { Database } from '../../database/database.js';
import type { Dialect } from '../../database/dialect.js';
import { flag, instant, integer, type ColumnReaders } from '../../database/reading.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/** Limits of the checks of one shop, over all instances. */
export interface ClaimLimits {
  readonly limit: number;
  readonly leaseMs: number;
  readonly requestsPerSecond: number;
}

export type ClaimedBillRow = Omit<ClaimedBill, 'hints'>;

export const CLAIMED_BILL_READERS: ColumnReaders<ClaimedBillRow> = {
  scheduled: flag,
  failedChecks: integer,
  openedAt: instant,
  paidAt: instant,
  endedAt: instant,
  now: instant,
  shopRefused: flag,
};

type HintOfBill = Hint & { readonly intentId: IntentId };

const HINT_READERS: ColumnReaders<HintOfBill> = { expectsSuccess: flag, receivedAt: instant, asks: integer, due: flag };

export const MAX_HINTS_PER_CHECK = 5_000;

/** A payment usually has a postback and a redirect. */
export const HINTS_PER_CLAIMED_BILL = 4;

/** The columns of a claimed bill `b`, except `scheduled` and `shopRefused`. */
export function claimedColumns({ epochMs }: Dialect, now: Statement): Statement {
  return sql`b.intent_id AS "intentId", b.shop, b.order_id AS "orderId", b.bill_id AS "billId", b.lease_token AS token,
    b.failed_checks AS "failedChecks", b.state, ${epochMs('b.opened_at')} AS "openedAt",
    ${epochMs('b.paid_at')} AS "paidAt", ${epochMs('b.ended_at')} AS "endedAt", ${epochMs(now)} AS now, b.traceparent`;
}

/** Whether a bill has an id at the service, no lease, and no recent check. */
export function isFreeAt(now: Statement, bill: 'b' | 't' = 'b'): Statement {
  const b = rawSql(bill);
  return sql`${b}.bill_id IS NOT NULL AND (${b}.lease_until IS NULL OR ${b}.lease_until < ${now}) AND ${b}.check_after <= ${now}`;
}

export abstract class CheckStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * Leases due bills of a shop, as many as its rate allows: hinted and scheduled ones alternately (if only one fits,
   * chance decides), so that neither kind starves the other. A fresh token makes every answer to an earlier claim
   * stale. Claims nothing while another instance claims for the same shop. A clock that was set back restarts the rate.
   */
  abstract claim(shop: string, token: string, limits: ClaimLimits): Promise<readonly ClaimedBill[]>;

  /**
   * Leases one bill now, by the service's id or by ours, regardless of its schedule and its shop's rate. `busy` while
   * another check of it is in flight.
   */
  async claimOne(
    shop: string,
    bill: string,
    token: string,
    leaseMs: number,
  ): Promise<ClaimedBill | 'busy' | 'unknown'> {
    const { byPrimaryKey, oneOf, rowLockClause } = this.database.dialect;
    const claimed = await this.database.transaction(async (tx) => {
      // The candidates are looked up without a lock: locking by another index first and then by the key could deadlock
      // with a settlement, which locks the other way round.
      const ids = await tx.ids`
        SELECT intent_id AS id FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id IS NOT NULL
        AND (bill_id = ${bill} OR intent_id = ${isUuid(bill) ? bill : null})`;
      const [locked] = await tx.rows<{ intentId: string; free: boolean; refused: boolean }>({
        free: flag,
        refused: flag,
      })`
        SELECT b.intent_id AS "intentId", b.lease_until IS NULL OR b.lease_until < ${this.database.now()} AS free, EXISTS (
          SELECT 1 FROM payment_acceptance.shop_state s WHERE s.shop = b.shop AND s.refused_since IS NOT NULL) AS refused
        FROM payment_acceptance.bill b ${byPrimaryKey} WHERE b.intent_id ${oneOf(ids, 'uuid')} ${rowLockClause}`;
      if (!locked) return 'unknown';
      if (!locked.free) return 'busy';
      return this.lease(tx, [locked.intentId], token, leaseMs, locked.refused);
    });
    if (typeof claimed === 'string') return claimed;
    const [claimedBill] = await this.withHints(claimed);
    return claimedBill ?? 'unknown';
  }

  /** The bills must be locked. */
  protected async lease(
    tx: OwnTransaction,
    ids: readonly string[],
    token: string,
    leaseMs: number,
    shopRefused: boolean,
  ): Promise<ClaimedBillRow[]> {
    const { dialect } = this.database;
    const now = this.database.now();
    await tx.change`
      UPDATE payment_acceptance.bill SET lease_token = ${token}, lease_until = ${this.database.now(leaseMs)}, check_after = ${now}
      WHERE intent_id ${dialect.oneOf(ids, 'uuid')}`;
    return tx.rows(CLAIMED_BILL_READERS)`
      SELECT ${claimedColumns(dialect, now)}, coalesce(b.next_check_at <= ${now}, FALSE) AS scheduled,
        ${shopRefused ? sql`TRUE` : sql`FALSE`} AS "shopRefused"
      FROM payment_acceptance.bill b WHERE b.intent_id ${dialect.oneOf(ids, 'uuid')}`;
  }

  protected async withHints(bills: readonly ClaimedBillRow[]): Promise<ClaimedBill[]> {
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
    const { epochMs, oneOf } = this.database.dialect;
    return this.database.rows(HINT_READERS)`
      SELECT hint.id, hint.intent_id AS "intentId", hint.asserts, hint.success AS "expectsSuccess",
        hint.received AS "receivedAt", hint.asks, hint.due FROM (
        SELECT c.id, c.intent_id, ${assertedStatus('c.kind', 'c.status')} AS asserts, c.kind = 'redirect-success' AS success,
          ${epochMs('c.received_at')} AS received, c.asks, c.due_at <= ${this.database.now()} AS due, c.due_at,
          ROW_NUMBER() OVER (PARTITION BY c.intent_id ORDER BY c.due_at) AS place
        FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.intent_id = b.intent_id
        WHERE b.intent_id ${oneOf(intentIds, 'uuid')} AND c.pending = TRUE AND c.received_at <= b.check_after) hint
      WHERE hint.place <= ${MAX_HINTS_PER_CHECK} ORDER BY hint.due_at`;
  }

  /** Callbacks that came later stay pending, and cause another check. */
  async answerHints({ consumed, postponed }: AnsweredHints, tx?: OwnTransaction): Promise<void> {
    const database = tx ?? this.database;
    const { oneOf } = this.database.dialect;
    for (const [outcome, ids] of groupIds(consumed, (hint) => hint.outcome)) {
      await database.change`UPDATE payment_acceptance.callback
        SET pending = false, consumed_at = ${this.database.now()}, outcome = ${outcome} WHERE id ${oneOf(ids, 'uuid')}`;
    }
    for (const [pauseMs, ids] of groupIds(postponed, (hint) => hint.pauseMs)) {
      await database.change`UPDATE payment_acceptance.callback
        SET asks = asks + 1, due_at = ${this.database.now(pauseMs)} WHERE id ${oneOf(ids, 'uuid')}`;
    }
  }

  /**
   * Ends a check without an answer. The bill is due again after the pause, its hints still pending; `false` if the
   * claim was replaced.
   * @param nextCheckAt the next scheduled check; `undefined` keeps the current one
   */
  async fail(
    { intentId, token }: ClaimedBill,
    pauseMs: number,
    nextCheckAt: Date | null | undefined,
    error: string,
  ): Promise<boolean> {
    const place = nextCheckAt && this.database.dialect.instant(nextCheckAt.getTime());
    const text = this.database.dialect.text(sql`${error}`);
    const failed = await this.database.change`
      UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL, failed_checks = failed_checks + 1,
        check_after = ${this.database.now(pauseMs)}, last_check_error = CASE WHEN redacted_at IS NULL THEN ${text} END,
        next_check_at = ${place === undefined ? sql`next_check_at` : place}
      WHERE intent_id = ${intentId} AND lease_token = ${token}`;
    return failed === 1;
  }

  /**
   * Makes postponed bills due now, except those being checked: a bill with hints is due by them, any other by its
   * schedule.
   */
  async retryNow(intentIds: readonly IntentId[]): Promise<void> {
    const hint = sql`SELECT 1 FROM payment_acceptance.callback c
      WHERE c.intent_id = payment_acceptance.bill.intent_id AND c.pending = TRUE`;
    await this.database.change`UPDATE payment_acceptance.bill SET check_after = ${this.database.now()}, next_check_at =
        CASE WHEN next_check_at > ${this.database.now()} AND NOT EXISTS (${hint}) THEN ${this.database.now()} ELSE next_check_at END
      WHERE intent_id ${this.database.dialect.oneOf(intentIds, 'uuid')} AND lease_token IS NULL AND check_after > ${this.database.now()}`;
  }

  async releaseLease(claim: Pick<ClaimedBill, 'intentId' | 'token'>): Promise<void> {
    await this.database.change`UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL
      WHERE intent_id = ${claim.intentId} AND lease_token = ${claim.token}`;
  }
}

function groupIds<T extends { readonly id: string }, K>(all: readonly T[], by: (item: T) => K): Map<K, string[]> {
  const groups = new Map<K, string[]>();
  for (const item of all) {
    const ids = groups.get(by(item));
    if (ids) ids.push(item.id);
    else groups.set(by(item), [item.id]);
  }
  return groups;
}
