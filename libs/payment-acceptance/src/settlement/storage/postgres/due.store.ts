import { isFreeAt } from '../check.store.js';
import {
  claimableAt,
  MAX_DUE_BILLS,
  DueStore,
  SHOP_DUE_SOON_READERS,
  MAX_NEXT_BILLS,
  type ShopDueSoon,
} from '../due.store.js';
import { PROBE_INTERVAL } from './check.store.js';
import { rawSql, sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { IN_ORDER, addMilliseconds, opaque, ROW_BY_ROW } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

function hasDueCallback(now: Statement): Statement {
  return sql`EXISTS (
    SELECT FROM (
      SELECT intent_id FROM payment_acceptance.callback c
      WHERE c.shop = s.shop AND c.pending AND c.intent_id IS NOT NULL AND c.due_at <= ${now}
      ORDER BY c.due_at ${IN_ORDER}) c
    CROSS JOIN LATERAL (
      SELECT FROM payment_acceptance.bill b WHERE b.intent_id = c.intent_id AND ${isFreeAt(now)} ${ROW_BY_ROW}) b ${ROW_BY_ROW})`;
}

/** When a refused shop of `shop_state s` is probed next, if that is in the future. */
function nextProbe(now: Statement): Statement {
  return sql`CASE WHEN s.refused_since IS NOT NULL AND s.probe_at BETWEEN ${now} AND ${addMilliseconds(now, PROBE_INTERVAL)} THEN s.probe_at END`;
}

/** Reads the shops with pending callbacks from their index, one lookup per shop (a loose index scan). */
const FIND_SHOPS_DUE_SOON = prepare([], (_none, now) => {
  const opaqueNow = sql`(SELECT ${now})`;
  const next = opaque(rawSql(String(MAX_NEXT_BILLS)), 'int');
  const nextOfIndex = (condition: Statement): Statement => sql`
    SELECT * FROM payment_acceptance.bill b WHERE ${condition} ORDER BY b.next_check_at ${IN_ORDER}`;
  return sql`WITH RECURSIVE due AS MATERIALIZED (
    SELECT b.shop, b.bill_id, ${claimableAt('b.next_check_at')} AS at
    FROM (${nextOfIndex(sql`b.next_check_at <= ${opaqueNow}`)}) b LIMIT ${opaque(rawSql(String(MAX_DUE_BILLS)), 'int')}
  ), upcoming AS (
    SELECT b.shop, b.bill_id, ${claimableAt('b.next_check_at')} AS at
    FROM (${nextOfIndex(sql`b.next_check_at > ${opaqueNow}`)}) b LIMIT ${next}
  ), called AS (
    (SELECT c.shop FROM payment_acceptance.callback c WHERE c.pending AND c.intent_id IS NOT NULL ORDER BY c.shop LIMIT 1)
    UNION ALL
    SELECT (SELECT c.shop FROM payment_acceptance.callback c
      WHERE c.pending AND c.intent_id IS NOT NULL AND c.shop > s.shop ORDER BY c.shop LIMIT 1)
    FROM called s WHERE s.shop IS NOT NULL
  ), hinted AS (
    SELECT s.shop, CASE WHEN ${hasDueCallback(opaqueNow)} THEN ${now} ELSE (
      SELECT min(${claimableAt('c.due_at')}) FROM (
        SELECT intent_id, due_at FROM payment_acceptance.callback c
        WHERE c.shop = s.shop AND c.pending AND c.intent_id IS NOT NULL ORDER BY c.due_at LIMIT ${next}) c
      JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id AND b.bill_id IS NOT NULL) END AS at
    FROM (SELECT * FROM called s WHERE s.shop IS NOT NULL ${IN_ORDER}) s
  ), near AS (
    SELECT shop, min(at) AS at FROM (
      SELECT shop, at FROM due WHERE bill_id IS NOT NULL
      UNION ALL SELECT shop, at FROM upcoming WHERE bill_id IS NOT NULL
      UNION ALL SELECT shop, at FROM hinted) every WHERE at IS NOT NULL GROUP BY shop
  )
  SELECT near.shop, ${postgres.epochMs('near.at')} AS at, ${postgres.epochMs(sql`(
      SELECT ${nextProbe(now)} FROM payment_acceptance.shop_state s WHERE s.shop = near.shop)`)} AS probe,
    (SELECT count(*) FROM due) AS seen, ${postgres.epochMs(now)} AS now
  FROM (SELECT 1) one LEFT JOIN near ON true ORDER BY near.shop`;
});

/** Asks for the first row in index order, so that the indexes of pending rows are used rather than a scan. */
const FILTER_DUE = prepare(['shops'], ({ shops }, now) => {
  const opaqueNow = sql`(SELECT ${now})`;
  return sql`SELECT s.shop FROM payment_acceptance.shop_state s
  WHERE s.shop = ANY(${opaque(shops, 'text[]')}) AND ${nextProbe(now)} IS NULL AND (EXISTS (
      SELECT FROM (
        SELECT * FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${opaqueNow}
        ORDER BY b.next_check_at ${IN_ORDER}) b WHERE ${isFreeAt(opaqueNow)} ${ROW_BY_ROW}
    ) OR ${hasDueCallback(opaqueNow)}) ORDER BY s.shop`;
});

export class PostgresDueStore extends DueStore<PostgresDatabase> {
  protected override shopsDueSoon(): Promise<ShopDueSoon[]> {
    return this.database.execute(FIND_SHOPS_DUE_SOON, {}, SHOP_DUE_SOON_READERS);
  }

  protected override async filterDue(shops: readonly string[]): Promise<readonly string[]> {
    const rows = await this.database.execute<{ shop: string }, 'shops'>(FILTER_DUE, { shops }, {});
    return rows.map(({ shop }) => shop);
  }
}
