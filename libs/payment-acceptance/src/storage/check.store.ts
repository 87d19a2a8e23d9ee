import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { AnsweredHints, Hint } from '../domain/callback.js';
import type { ClaimedBill } from '../domain/claim.js';
import { isUuid } from '../domain/uuid.js';
import { ASSERTED_STATUS } from './callback.store.js';
import { Database } from './database.js';
import { IN_ORDER, NOW, ROW_BY_ROW, OPAQUE_NOW, epochMs, inMs, instant, opaque, type Texts } from './sql.js';
import type { IntentId } from '../domain/ids.js';

/** What limits the checks of one shop, over all instances together. */
export interface ClaimLimits {
  /** Most bills to claim. */
  readonly limit: number;
  readonly leaseMs: number;
  readonly requestsPerSecond: number;
  /** Pause between the probes of a shop that the service refuses. */
  readonly probeMs: number;
}

/** A claimed bill as a statement gives it. */
export type ClaimedBillRow = Texts<Omit<ClaimedBill, 'hints'>, 'openedAt' | 'paidAt' | 'endedAt' | 'now'>;

export const HINTS_PER_BILL = 5_000;

/** How many hints are looked at for each bill that can be claimed: a payment has a postback and a redirect as a rule. */
const HINTS_OF_A_CLAIM = 4;

const LIMIT = opaque('$3', 'int');

/** Whether a callback of a bill waits; not to be looked for in the index of all that wait. */
const WAITS = 'c.pending IS NOT FALSE';

/** What a claim gives of a bill `b`. */
const CLAIMED = `b.id AS "intentId", b.shop, b.order_id AS "orderId", b.service_bill_id AS "billId", b.lease_token AS token,
  b.failed_checks AS "failedChecks", b.state, ${epochMs('b.opened_at')} AS "openedAt",
  ${epochMs('b.paid_at')} AS "paidAt", ${epochMs('b.ended_at')} AS "endedAt", ${epochMs(NOW)} AS now, b.traceparent`;

/** A bill that the service knows, that nobody is asking about, and that was not asked about a moment ago. */
export const freeAt = (now: string): string =>
  `b.service_bill_id IS NOT NULL AND (b.lease_until IS NULL OR b.lease_until < ${now}) AND b.check_after <= ${now}`;

export const FREE = freeAt(OPAQUE_NOW);

const OF_SHOP = `b.shop = $5 AND ${FREE}`;

/** See `CheckStore.claim`. */
const CLAIM_BILLS = `WITH shop AS (
    SELECT refused_since, probe_at, CASE WHEN next_request_at BETWEEN ${NOW} - interval '1 second' AND ${NOW} + interval '1 second'
      THEN next_request_at ELSE ${NOW} - interval '1 second' END AS start
    FROM payment_acceptance.shop_state WHERE shop = $5 FOR UPDATE SKIP LOCKED
  ), budget AS (
    SELECT start, refused_since IS NOT NULL AS refused, least($3::int, CASE
      WHEN refused_since IS NULL THEN floor(extract(epoch FROM ${NOW} - start) * $6::int)::int
      WHEN probe_at <= ${NOW} OR probe_at > ${inMs('$7')} THEN 1 ELSE 0 END) AS most FROM shop
  ), scheduled AS (
    SELECT b.id, row_number() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
    WHERE b.next_check_at <= ${OPAQUE_NOW} AND ${OF_SHOP} ORDER BY b.next_check_at LIMIT ${LIMIT}
  ), hinted AS (
    SELECT h.id, row_number() OVER (ORDER BY h.first) AS turn FROM (
      SELECT id, min(due_at) AS first FROM (
        SELECT b.id, c.due_at FROM (
          SELECT bill_id, due_at FROM payment_acceptance.callback
          WHERE shop = $5 AND pending AND bill_id IS NOT NULL AND due_at <= ${OPAQUE_NOW} ORDER BY due_at ${IN_ORDER}) c
        CROSS JOIN LATERAL (
          SELECT b.id FROM payment_acceptance.bill b WHERE b.id = c.bill_id AND ${OF_SHOP} ${ROW_BY_ROW}) b
        ORDER BY c.due_at LIMIT ${HINTS_OF_A_CLAIM} * ${LIMIT}) earliest
      GROUP BY id ORDER BY first LIMIT ${LIMIT}) h
  ), due AS (
    SELECT id, min(turn) AS turn FROM (SELECT * FROM scheduled UNION ALL SELECT * FROM hinted) every GROUP BY id
  ), taken AS (
    SELECT b.id, b.next_check_at <= ${NOW} AS scheduled
    FROM (SELECT * FROM due ORDER BY turn, md5(id::text || $4::text)) due
    CROSS JOIN LATERAL (
      SELECT b.id, b.next_check_at FROM payment_acceptance.bill b WHERE b.id = due.id AND ${OF_SHOP}
      FOR UPDATE SKIP LOCKED) b
    LIMIT greatest(0, coalesce((SELECT most FROM budget), 0))
  ), spent AS (
    UPDATE payment_acceptance.shop_state s
    SET next_request_at = budget.start + taking.bills * interval '1 second' / $6::int,
      probe_at = CASE WHEN budget.refused THEN ${inMs('$7')} END
    FROM budget, (SELECT count(*) AS bills FROM taken) taking WHERE s.shop = $5 AND taking.bills > 0
  )
  UPDATE payment_acceptance.bill b SET lease_token = $4::uuid, lease_until = ${inMs('$2')}, check_after = ${NOW}
  FROM taken, budget WHERE b.id = taken.id
  RETURNING ${CLAIMED}, coalesce(taken.scheduled, false) AS scheduled, budget.refused AS "shopRefused"`;

/** See `CheckStore.hintsOf`. */
const HINTS_OF = `SELECT hint.id, hint.bill_id AS "intentId", ${ASSERTED_STATUS('hint.kind', 'hint.status')} AS asserts,
    ${epochMs('hint.received_at')} AS "receivedAt", hint.asks, hint.due_at <= ${NOW} AS due
  FROM payment_acceptance.bill b CROSS JOIN LATERAL (
    SELECT * FROM payment_acceptance.callback c WHERE ${WAITS} AND c.bill_id = b.id AND c.received_at <= b.check_after
    ORDER BY c.due_at LIMIT $3) hint
  WHERE b.id = ANY(${opaque('$2', 'uuid[]')})`;

/** The statements of checking: which bills are asked about, by whom, and when again. */
@Injectable()
export class CheckStore {
  constructor(private readonly database: Database) {}

  /**
   * Leases due bills of a shop, as many as its rate allows: hinted and scheduled ones in turns, by lot where only one can
   * go, so that neither starves the other. A fresh token makes every answer to an earlier claim stale. While another
   * instance claims for the same shop there is nothing here. A clock that was set back starts the rate anew.
   */
  async claim(shop: string, token: string, limits: ClaimLimits): Promise<ClaimedBill[]> {
    const bills = await this.database.atReadCommitted<ClaimedBillRow>(CLAIM_BILLS, [
      this.database.offsetMs,
      limits.leaseMs,
      limits.limit,
      token,
      shop,
      limits.requestsPerSecond,
      limits.probeMs,
    ]);
    return this.withHints(bills);
  }

  /**
   * Leases one bill now, by the service's id or by ours, whatever its place in the schedule and the rate of its shop.
   * `busy` while another check of it is under way.
   */
  async claimOne(
    shop: string,
    bill: string,
    token: string,
    leaseMs: number,
  ): Promise<ClaimedBill | 'busy' | 'unknown'> {
    const keys = [bill, isUuid(bill) ? bill : null, shop];
    const claimed = await this.database.atReadCommitted<ClaimedBillRow>(
      `UPDATE payment_acceptance.bill b SET lease_token = $6::uuid, lease_until = ${inMs('$2')}, check_after = ${NOW}
       WHERE b.shop = $5 AND b.service_bill_id IS NOT NULL AND (b.service_bill_id = $3 OR b.id = $4::uuid)
         AND (b.lease_until IS NULL OR b.lease_until < ${NOW})
       RETURNING ${CLAIMED}, coalesce(b.next_check_at <= ${NOW}, false) AS scheduled, EXISTS (
         SELECT 1 FROM payment_acceptance.shop_state s WHERE s.shop = b.shop AND s.refused_since IS NOT NULL)
         AS "shopRefused"`,
      [this.database.offsetMs, leaseMs, ...keys, token],
    );
    const [own] = await this.withHints(claimed);
    if (own) return own;
    const found = await this.database.query(
      `SELECT 1 FROM payment_acceptance.bill b WHERE b.shop = $3 AND b.service_bill_id IS NOT NULL
         AND (b.service_bill_id = $1 OR b.id = $2::uuid)`,
      keys,
    );
    return found.length > 0 ? 'busy' : 'unknown';
  }

  protected async withHints(bills: readonly ClaimedBillRow[]): Promise<ClaimedBill[]> {
    if (bills.length === 0) return [];
    const hints = await this.hintsOf(bills.map(({ intentId }) => intentId)).catch(async (error: unknown) => {
      // They are leased already, and nobody is going to ask about them.
      await Promise.all(bills.map((bill) => this.release(bill)));
      throw error;
    });
    return bills.map((bill) => ({
      ...bill,
      openedAt: instant(bill.openedAt),
      paidAt: instant(bill.paidAt),
      endedAt: instant(bill.endedAt),
      now: instant(bill.now),
      hints: hints.filter(({ intentId }) => intentId === bill.intentId),
    }));
  }

  /** Writes what became of the hints. Callbacks that came later stay pending, and cause another check. */
  async answerHints({ consumed, again }: AnsweredHints, manager?: EntityManager): Promise<void> {
    if (consumed.length > 0) {
      await this.database.query(
        `UPDATE payment_acceptance.callback c SET pending = false, consumed_at = ${NOW}, outcome = answered.outcome
         FROM unnest($2::uuid[], $3::text[]) AS answered (id, outcome) WHERE c.id = answered.id`,
        [this.database.offsetMs, consumed.map(({ id }) => id), consumed.map(({ outcome }) => outcome)],
        manager,
      );
    }
    if (again.length > 0) {
      await this.database.query(
        `UPDATE payment_acceptance.callback c SET asks = asks + 1, due_at = ${inMs('later.pause_ms')}
         FROM unnest($2::uuid[], $3::double precision[]) AS later (id, pause_ms) WHERE c.id = later.id`,
        [this.database.offsetMs, again.map(({ id }) => id), again.map(({ pauseMs }) => pauseMs)],
        manager,
      );
    }
  }

  /**
   * Ends a check without an answer. The bill comes again after the pause, its hints still pending; `nextCheckAt` is its
   * new place in the schedule, `undefined` where that stays as it is. `false` if the claim was replaced.
   */
  async fail(
    claim: ClaimedBill,
    pauseMs: number,
    nextCheckAt: Date | null | undefined,
    error: string,
  ): Promise<boolean> {
    const failed = await this.database.query(
      `UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL, failed_checks = failed_checks + 1,
         check_after = ${inMs('$2')}, last_check_error = $5,
         next_check_at = CASE WHEN $6 THEN to_timestamp($7::double precision / 1000) ELSE next_check_at END
       WHERE id = $3 AND lease_token = $4 RETURNING id`,
      [
        this.database.offsetMs,
        pauseMs,
        claim.intentId,
        claim.token,
        error,
        nextCheckAt !== undefined,
        nextCheckAt?.getTime() ?? null,
      ],
    );
    return failed.length === 1;
  }

  /** Gives a claim back unused. */
  async release(claim: Pick<ClaimedBill, 'intentId' | 'token'>): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL WHERE id = $1 AND lease_token = $2`,
      [claim.intentId, claim.token],
    );
  }

  /** The service refuses the shop: from now on one probe at a time. `false` where that was known. */
  async refuseShop(shop: string, reason: string, probeMs: number): Promise<boolean> {
    const refused = await this.database.query(
      `UPDATE payment_acceptance.shop_state
       SET refused_since = ${NOW}, refused_reason = $3, probe_at = ${inMs('$4')}
       WHERE shop = $2 AND refused_since IS NULL RETURNING shop`,
      [this.database.offsetMs, shop, reason, probeMs],
    );
    return refused.length === 1;
  }

  /** The service has answered the shop again. */
  async acceptShop(shop: string): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.shop_state SET refused_since = NULL, refused_reason = NULL, probe_at = NULL
       WHERE shop = $1`,
      [shop],
    );
  }

  /**
   * Those that came before the claim; a later one causes another check, which recording relies on. Those of each bill whose
   * turn it is come first, so that none waits behind what is only answered along the way.
   */
  protected async hintsOf(intentIds: readonly IntentId[]): Promise<(Hint & { intentId: IntentId })[]> {
    const hints = await this.database.prepared<Texts<Hint & { intentId: IntentId }, 'receivedAt'>>(HINTS_OF, [
      this.database.offsetMs,
      intentIds,
      HINTS_PER_BILL,
    ]);
    return hints.map((hint) => ({ ...hint, receivedAt: instant(hint.receivedAt) }));
  }
}
