import type { Hint } from '../../../domain/callback.js';
import type { ClaimedBill } from '../../../domain/claim.js';
import { assertedStatus } from '../../../callbacks/storage/callback.store.js';
import {
  CheckStore,
  CLAIMED_BILL_READERS,
  claimedColumns,
  isFreeAt,
  HINTS_PER_CLAIMED_BILL,
  MAX_HINTS_PER_CHECK,
  type ClaimLimits,
} from '../check.store.js';
import { PROBE_MS } from '../shop.store.js';
import { instant, type ColumnReaders } from '../../../database/reading.js';
import { rawSql, sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { IN_ORDER, addMilliseconds, opaque, ROW_BY_ROW } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

/**
 * The hints of a bill `b` that arrived before its claim, as JSON. A hint that arrives later must cause another check:
 * storing a callback relies on that. The earliest due come first, so that none waits behind hints that are not due yet.
 * The condition is `IS NOT FALSE`, so that the planner does not use the index of all pending callbacks.
 */
function hintsAt(now: Statement): Statement {
  return sql`(SELECT coalesce(json_agg(json_build_object('id', hint.id, 'asserts', ${assertedStatus('hint.kind', 'hint.status')},
      'expectsSuccess', hint.kind = 'redirect-success', 'receivedMs', ${postgres.epochMs('hint.received_at')}, 'asks', hint.asks, 'due', hint.due_at <= ${now})), '[]')::text
    FROM (SELECT * FROM payment_acceptance.callback c WHERE c.pending IS NOT FALSE AND c.intent_id = b.intent_id
      AND c.received_at <= ${now} ORDER BY c.due_at LIMIT ${opaque(rawSql(String(MAX_HINTS_PER_CHECK)), 'int')}) hint) AS hints`;
}

function readHints(text: unknown): readonly Hint[] {
  const hints = JSON.parse(String(text)) as (Omit<Hint, 'receivedAt'> & { readonly receivedMs: number })[];
  return hints.map(({ receivedMs, ...hint }) => ({ ...hint, receivedAt: instant(receivedMs) }));
}

/** Until a refused shop is probed again, in milliseconds. */
export const PROBE_INTERVAL = rawSql(String(PROBE_MS));

const CLAIM_READERS: ColumnReaders<ClaimedBill> = { ...CLAIMED_BILL_READERS, hints: readHints };

/** Leases due bills, as many as the shop's rate allows. */
const CLAIM_DUE = prepare(
  ['leaseMs', 'limit', 'token', 'shop', 'requestsPerSecond'],
  ({ leaseMs, limit, token, shop, requestsPerSecond }, now) => {
    const opaqueNow = sql`(SELECT ${now})`;
    const opaqueLimit = opaque(limit, 'int');
    const ofShop = sql`b.shop = ${shop} AND ${isFreeAt(opaqueNow)}`;
    return sql`WITH shop AS (
      SELECT refused_since, probe_at, CASE WHEN next_request_at BETWEEN ${now} - interval '1 second' AND ${now} + interval '1 second'
        THEN next_request_at ELSE ${now} - interval '1 second' END AS start
      FROM payment_acceptance.shop_state WHERE shop = ${shop} FOR UPDATE SKIP LOCKED
    ), budget AS (
      SELECT start, refused_since IS NOT NULL AS refused, greatest(0, CASE
        WHEN refused_since IS NULL THEN floor(extract(epoch FROM ${now} - start) * ${requestsPerSecond}::int)::int
        WHEN probe_at <= ${now} OR probe_at > ${addMilliseconds(now, PROBE_INTERVAL)} THEN 1 ELSE 0 END) AS most FROM shop
    ), scheduled AS (
      SELECT b.intent_id, row_number() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
      WHERE b.next_check_at <= ${opaqueNow} AND ${ofShop} ORDER BY b.next_check_at LIMIT ${opaqueLimit}
    ), hinted AS (
      SELECT h.intent_id, row_number() OVER (ORDER BY h.first) AS turn FROM (
        SELECT intent_id, min(due_at) AS first FROM (
          SELECT b.intent_id, c.due_at FROM (
            SELECT intent_id, due_at FROM payment_acceptance.callback
            WHERE shop = ${shop} AND pending AND intent_id IS NOT NULL AND due_at <= ${opaqueNow} ORDER BY due_at ${IN_ORDER}) c
          CROSS JOIN LATERAL (
            SELECT b.intent_id FROM payment_acceptance.bill b WHERE b.intent_id = c.intent_id AND ${ofShop} ${ROW_BY_ROW}) b
          ORDER BY c.due_at LIMIT ${rawSql(String(HINTS_PER_CLAIMED_BILL))} * ${opaqueLimit}) earliest
        GROUP BY intent_id ORDER BY first LIMIT ${opaqueLimit}) h
    ), due AS (
      SELECT intent_id, min(turn) AS turn FROM (SELECT * FROM scheduled UNION ALL SELECT * FROM hinted) every GROUP BY intent_id
    ), taken AS (
      SELECT b.intent_id, b.next_check_at <= ${now} AS scheduled
      FROM (SELECT * FROM due ORDER BY turn, md5(intent_id::text || ${token}::text)) due
      CROSS JOIN LATERAL (
        SELECT b.intent_id, b.next_check_at FROM payment_acceptance.bill b WHERE b.intent_id = due.intent_id AND ${ofShop}
        FOR UPDATE SKIP LOCKED) b
      LIMIT coalesce((SELECT least(most, ${limit}::int) FROM budget), 0)
    ), spent AS (
      UPDATE payment_acceptance.shop_state s
      SET next_request_at = budget.start + taking.bills * interval '1 second' / ${requestsPerSecond}::int,
        probe_at = CASE WHEN budget.refused THEN ${addMilliseconds(now, PROBE_INTERVAL)} END
      FROM budget, (SELECT count(*) AS bills FROM taken) taking WHERE s.shop = ${shop} AND taking.bills > 0
    )
    UPDATE payment_acceptance.bill b SET lease_token = ${token}::uuid, lease_until = ${addMilliseconds(now, leaseMs)}, check_after = ${now}
    FROM taken, budget WHERE b.intent_id = taken.intent_id
    RETURNING ${claimedColumns(postgres, now)}, coalesce(taken.scheduled, false) AS scheduled,
      budget.refused AS "shopRefused", ${hintsAt(now)}`;
  },
);

export class PostgresCheckStore extends CheckStore<PostgresDatabase> {
  override claim(shop: string, token: string, limits: ClaimLimits): Promise<readonly ClaimedBill[]> {
    return this.database.executeAtReadCommitted(CLAIM_DUE, { ...limits, token, shop }, CLAIM_READERS);
  }
}
