import { Injectable } from '@nestjs/common';
import { FREE } from './check.store.js';
import { Database } from './database.js';
import { IN_ORDER, NOW, ROW_BY_ROW, OPAQUE_NOW, epochMs, inMs, opaque } from './sql.js';

/** What waits to be checked. */
export interface Due {
  /** Shops with a bill that can be claimed now. */
  readonly shops: readonly string[];
  /** In how many milliseconds the next bill may be due; `null` where none is in sight. */
  readonly nextMs: number | null;
}

/** How many of a shop's next bills are read to tell when one of them is due: one that is claimed already hides no other. */
const IN_SIGHT = opaque('20', 'int');

/** From when on a bill `b` can be claimed, if it is due at the instant given. */
const CLAIMABLE_AT = (dueAt: string): string =>
  `greatest(${dueAt}, b.check_after, coalesce(b.lease_until, b.check_after))`;

/** See `DueStore.look`. */
const LOOK = `WITH followed AS MATERIALIZED (
    SELECT shop, probe.at, probe.at IS NULL AND (EXISTS (
      SELECT FROM (
        SELECT * FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${OPAQUE_NOW}
        ORDER BY b.next_check_at ${IN_ORDER}) b WHERE ${FREE} ${ROW_BY_ROW}
    ) OR EXISTS (
      SELECT FROM (
        SELECT bill_id FROM payment_acceptance.callback c
        WHERE c.shop = s.shop AND c.pending AND c.bill_id IS NOT NULL AND c.due_at <= ${OPAQUE_NOW}
        ORDER BY c.due_at ${IN_ORDER}) c
      CROSS JOIN LATERAL (
        SELECT FROM payment_acceptance.bill b WHERE b.id = c.bill_id AND ${FREE} ${ROW_BY_ROW}) b ${ROW_BY_ROW})) AS due
    FROM payment_acceptance.shop_state s LEFT JOIN LATERAL (
      SELECT s.probe_at AS at WHERE s.refused_since IS NOT NULL AND s.probe_at BETWEEN ${NOW} AND ${inMs('$3')}) probe ON true
    WHERE shop = ANY(${opaque('$2', 'text[]')})
  )
  SELECT s.shop, s.due, ${epochMs('greatest(soon.at, s.at)')} AS next, ${epochMs(NOW)} AS now FROM followed s
  CROSS JOIN LATERAL (
    SELECT min(at) AS at FROM (
      SELECT ${CLAIMABLE_AT('b.next_check_at')} AS at FROM (
        SELECT * FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at IS NOT NULL
        ORDER BY b.next_check_at LIMIT ${IN_SIGHT}) b WHERE NOT s.due
      UNION ALL
      SELECT ${CLAIMABLE_AT('c.due_at')} FROM (
        SELECT bill_id, due_at FROM payment_acceptance.callback c
        WHERE c.shop = s.shop AND c.pending AND c.bill_id IS NOT NULL ORDER BY c.due_at LIMIT ${IN_SIGHT}) c
      JOIN payment_acceptance.bill b ON b.id = c.bill_id WHERE NOT s.due) near
  ) soon ORDER BY s.shop`;

/** Which shops have something to be checked: asked before anything is claimed, and all that an idle instance asks. */
@Injectable()
export class DueStore {
  constructor(private readonly database: Database) {}

  /** Makes the shops known, so that their limits can be kept. */
  async registerShops(shops: readonly string[]): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.shop_state (shop, next_request_at)
       SELECT shop, '-infinity' FROM unnest($1::text[]) AS shop ORDER BY 1 ON CONFLICT DO NOTHING`,
      [shops],
    );
  }

  /**
   * A shop that the service refuses is due only when it is to be probed. Each first one is asked for in order, which the
   * indexes of what is pending have, and no scan of a table.
   */
  async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const rows = await this.database.prepared<{ shop: string; due: boolean; next: string | null; now: string }>(LOOK, [
      this.database.offsetMs,
      shops,
      probeMs,
    ]);
    const pauses = rows.flatMap(({ next, now }) => (next === null ? [] : Number(next) - Number(now)));
    return {
      shops: rows.filter(({ due }) => due).map(({ shop }) => shop),
      nextMs: pauses.length > 0 ? Math.max(0, Math.min(...pauses)) : null,
    };
  }

  /** Shops that are not among these, with the number of their bills that were to be checked some time. */
  unfollowed(shops: readonly string[]): Promise<{ shop: string; bills: number }[]> {
    return this.database.query(
      `SELECT b.shop, count(*)::int AS bills FROM payment_acceptance.shop_state s
       JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.next_check_at IS NOT NULL
       WHERE s.shop <> ALL($1::text[]) GROUP BY b.shop ORDER BY b.shop`,
      [shops],
    );
  }
}
