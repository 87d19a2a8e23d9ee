import { LAST_DUE } from '../../../callbacks/storage/stored-callback.js';
import { isFreeAt } from '../check.store.js';
import {
  claimableAt,
  MAX_DUE_BILLS,
  DueStore,
  SHOP_DUE_SOON_READERS,
  MAX_NEXT_BILLS,
  type ShopDueSoon,
} from '../due.store.js';
import { PROBE_MS } from '../shop.store.js';
import { flag } from '../../../database/reading.js';
import { join, sql, type Statement } from '../../../database/statement.js';
import { mariadb } from '../../../database/mariadb/dialect.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';

export class MariaDueStore extends DueStore<MariaDatabase> {
  protected override async shopsDueSoon(): Promise<ShopDueSoon[]> {
    const now = this.database.now();
    const shopsWithCallbacks = await this.findShopsWithCallbacks(now);
    const bills = (condition: Statement, limit: number): Statement =>
      sql`(SELECT b.shop, ${claimableAt('b.next_check_at')} AS at, b.bill_id FROM payment_acceptance.bill b
       WHERE b.next_check_at ${condition} ${now} ORDER BY b.next_check_at LIMIT ${limit})`;
    const hinted = shopsWithCallbacks.map(({ shop, due }) =>
      due
        ? sql`SELECT ${shop} AS shop, ${now} AS at`
        : sql`SELECT ${shop} AS shop, ${claimableAt('c.due_at')} AS at FROM (
            SELECT intent_id, due_at FROM payment_acceptance.callback
            WHERE shop = ${shop} AND pending = 1 AND due_at < ${LAST_DUE} ORDER BY due_at LIMIT ${MAX_NEXT_BILLS}) c
          JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id AND b.bill_id IS NOT NULL`,
    );
    const candidates = [
      sql`SELECT shop, at FROM due WHERE bill_id IS NOT NULL`,
      sql`SELECT shop, at FROM upcoming WHERE bill_id IS NOT NULL`,
      ...hinted,
    ];
    return this.database.rows<ShopDueSoon>(SHOP_DUE_SOON_READERS)`
      WITH due AS (${bills(sql`<=`, MAX_DUE_BILLS)}), upcoming AS (${bills(sql`>`, MAX_NEXT_BILLS)}),
      near AS (SELECT shop, MIN(at) AS at FROM (${join(candidates, ' UNION ALL ')}) every GROUP BY shop)
      SELECT near.shop, ${mariadb.epochMs('near.at')} AS at, ${mariadb.epochMs(sql`(
          SELECT ${this.nextProbe()} FROM payment_acceptance.shop_state s WHERE s.shop = near.shop)`)} AS probe,
        (SELECT COUNT(*) FROM due) AS seen, ${mariadb.epochMs(now)} AS now
      FROM (SELECT 1) one LEFT JOIN near ON TRUE ORDER BY near.shop`;
  }

  /** A separate statement, since MariaDB has no LATERAL. */
  private findShopsWithCallbacks(now: Statement): Promise<{ shop: string; due: boolean }[]> {
    return this.database.rows<{ shop: string; due: boolean }>({ due: flag })`
      SELECT s.shop, ${this.hasDueCallback(now)} AS due
      FROM payment_acceptance.shop_state s WHERE (
        SELECT 1 FROM payment_acceptance.callback c FORCE INDEX (callback_due)
        WHERE c.pending = 1 AND c.shop = s.shop AND c.due_at < ${LAST_DUE} LIMIT 1) = 1 ORDER BY s.shop`;
  }

  protected override async filterDue(shops: readonly string[]): Promise<readonly string[]> {
    const now = this.database.now();
    const rows = await this.database.rows<{ shop: string }>({})`SELECT s.shop FROM payment_acceptance.shop_state s
      WHERE s.shop ${mariadb.oneOf(shops, 'text')} AND ${this.nextProbe()} IS NULL AND (EXISTS (
          SELECT 1 FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${now} AND ${isFreeAt(now)}
        ) OR ${this.hasDueCallback(now)}) ORDER BY s.shop`;
    return rows.map(({ shop }) => shop);
  }

  private hasDueCallback(now: Statement): Statement {
    return sql`EXISTS (
      SELECT 1 FROM payment_acceptance.callback c FORCE INDEX (callback_due)
      JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
      WHERE c.shop = s.shop AND c.pending = 1 AND c.due_at <= ${now} AND ${isFreeAt(now)})`;
  }

  /** When a refused shop of `shop_state s` is probed next, if that is in the future. */
  private nextProbe(): Statement {
    return sql`CASE WHEN s.refused_since IS NOT NULL
      AND s.probe_at BETWEEN ${this.database.now()} AND ${this.database.now(PROBE_MS)} THEN s.probe_at END`;
  }
}
