import { Injectable } from '@nestjs/common';
import { freeAt } from '../check.store.js';
import { claimableAt, DueStore, dueOf, IN_SIGHT, type Due } from '../due.store.js';
import { flag, instant } from '../reading.js';
import { join, sql } from '../statement.js';
import { mariadb } from './dialect.js';
import type { MariaDatabase } from './maria.database.js';

@Injectable()
export class MariaDueStore extends DueStore {
  constructor(protected override readonly database: MariaDatabase) {
    super();
  }

  override async registerShops(shops: readonly string[]): Promise<void> {
    if (shops.length === 0) return;
    const rows = [...shops].sort().map((shop) => sql`(${shop}, '1970-01-01')`);
    await this.database.change(
      sql`INSERT INTO payment_acceptance.shop_state (shop, next_request_at) VALUES ${join(rows, ', ')}
       ON DUPLICATE KEY UPDATE shop = shop`,
    );
  }

  /** Shop by shop where nothing is due: MariaDB has no LATERAL. */
  override async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const now = mariadb.now(this.database.offsetMs);
    const free = freeAt(now);
    const rows = await this.database.rows<{ shop: string; due: boolean; probe: Date | null; now: Date }>(
      sql`SELECT s.shop, ${mariadb.epochMs('s.probe')} AS probe, ${mariadb.epochMs(now)} AS now, s.probe IS NULL AND (EXISTS (
           SELECT 1 FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${now} AND ${free}
         ) OR EXISTS (
           SELECT 1 FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
           WHERE c.shop = s.shop AND c.pending = 1 AND c.due_at <= ${now} AND ${free})) AS due
       FROM (SELECT shop, CASE WHEN refused_since IS NOT NULL
             AND probe_at BETWEEN ${now} AND ${mariadb.now(this.database.offsetMs + probeMs)}
           THEN probe_at END AS probe
         FROM payment_acceptance.shop_state WHERE shop ${mariadb.oneOf(shops, 'text')}) s ORDER BY s.shop`,
      { due: flag, probe: instant, now: instant },
    );
    const pauses: number[] = [];
    for (const { shop, probe, now } of rows.filter(({ due }) => !due)) {
      const [soon] = await this.database.rows<{ next: Date | null }>(
        sql`SELECT ${mariadb.epochMs('at')} AS next FROM (SELECT MIN(at) AS at FROM (
           (SELECT ${claimableAt('b.next_check_at')} AS at FROM payment_acceptance.bill b
            WHERE b.shop = ${shop} AND b.next_check_at IS NOT NULL ORDER BY b.next_check_at LIMIT ${IN_SIGHT})
           UNION ALL
           (SELECT ${claimableAt('c.due_at')} FROM payment_acceptance.callback c
            JOIN payment_acceptance.bill b ON b.id = c.bill_id
            WHERE c.shop = ${shop} AND c.pending = 1 ORDER BY c.due_at LIMIT ${IN_SIGHT})) near) soon`,
        { next: instant },
      );
      const next = soon?.next ?? null;
      if (next !== null) pauses.push(Math.max(next.getTime(), probe?.getTime() ?? 0) - now.getTime());
    }
    return dueOf(rows, pauses);
  }
}
