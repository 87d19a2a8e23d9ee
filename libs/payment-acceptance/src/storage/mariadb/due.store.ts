import { Injectable } from '@nestjs/common';
import { freeAt } from '../check.store.js';
import { NOW, epochMs, inMs } from '../sql.js';
import { DueStore, type Due } from '../due.store.js';
import type { MariaDatabase } from './maria.database.js';

const IN_SIGHT = 20;
const CLAIMABLE_AT = (dueAt: string): string =>
  `GREATEST(${dueAt}, b.check_after, coalesce(b.lease_until, b.check_after))`;

const FREE = freeAt(NOW);

@Injectable()
export class MariaDueStore extends DueStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async registerShops(shops: readonly string[]): Promise<void> {
    if (shops.length === 0) return;
    await this.maria.query(
      `INSERT INTO payment_acceptance.shop_state (shop, next_request_at) VALUES $1 ON DUPLICATE KEY UPDATE shop = shop`,
      [[...shops].sort().map((shop) => [shop, '1970-01-01'])],
    );
  }

  /** Shop by shop where nothing is due: MariaDB has no LATERAL. */
  override async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const rows = await this.maria.query<{ shop: string; due: boolean; probe: string | null; now: string }>(
      `SELECT s.shop, ${epochMs('s.probe')} AS probe, ${epochMs(NOW)} AS now, s.probe IS NULL AND (EXISTS (
           SELECT 1 FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${NOW} AND ${FREE}
         ) OR EXISTS (
           SELECT 1 FROM payment_acceptance.callback c JOIN payment_acceptance.bill b ON b.id = c.bill_id
           WHERE c.shop = s.shop AND c.pending = 1 AND c.due_at <= ${NOW} AND ${FREE})) AS due
       FROM (SELECT shop, CASE WHEN refused_since IS NOT NULL AND probe_at BETWEEN ${NOW} AND ${inMs('$3')}
           THEN probe_at END AS probe FROM payment_acceptance.shop_state WHERE shop = ANY($2)) s ORDER BY s.shop`,
      [this.maria.offsetMs, shops, probeMs],
    );
    const pauses: number[] = [];
    for (const { shop, probe, now } of rows.filter(({ due }) => !due)) {
      const [soon] = await this.maria.query<{ next: string | null }>(
        `SELECT ${epochMs('at')} AS next FROM (SELECT MIN(at) AS at FROM (
           (SELECT ${CLAIMABLE_AT('b.next_check_at')} AS at FROM payment_acceptance.bill b
            WHERE b.shop = $1 AND b.next_check_at IS NOT NULL ORDER BY b.next_check_at LIMIT ${IN_SIGHT})
           UNION ALL
           (SELECT ${CLAIMABLE_AT('c.due_at')} FROM payment_acceptance.callback c
            JOIN payment_acceptance.bill b ON b.id = c.bill_id
            WHERE c.shop = $1 AND c.pending = 1 ORDER BY c.due_at LIMIT ${IN_SIGHT})) near) soon`,
        [shop],
      );
      const next = soon?.next ?? null;
      if (next !== null) pauses.push(Math.max(Number(next), Number(probe)) - Number(now));
    }
    return {
      shops: rows.filter(({ due }) => due).map(({ shop }) => shop),
      nextMs: pauses.length > 0 ? Math.max(0, Math.min(...pauses)) : null,
    };
  }
}
