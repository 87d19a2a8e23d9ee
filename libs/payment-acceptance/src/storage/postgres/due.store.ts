import { Injectable } from '@nestjs/common';
import { freeAt } from '../check.store.js';
import { claimableAt, DueStore, dueOf, IN_SIGHT, type Due } from '../due.store.js';
import { flag, instant, type Reading } from '../reading.js';
import { rawSql, sql } from '../statement.js';
import { postgres } from './dialect.js';
import { IN_ORDER, later, opaque, ROW_BY_ROW } from './planner.js';
import type { PostgresDatabase } from './postgres.database.js';
import { prepare } from './prepare.js';

interface Followed {
  readonly shop: string;
  readonly due: boolean;
  /** When the next bill may be due. */
  readonly next: Date | null;
  /** The database's clock. */
  readonly now: Date;
}

const FOLLOWED: Reading<Followed> = { due: flag, next: instant, now: instant };

/** See `DueStore.look`. */
const LOOK = prepare(['offsetMs', 'shops', 'probeMs'], ({ offsetMs, shops, probeMs }) => {
  const now = postgres.now(offsetMs);
  const opaqueNow = sql`(SELECT ${now})`;
  const free = freeAt(opaqueNow);
  const inSight = opaque(rawSql(String(IN_SIGHT)), 'int');
  return sql`WITH followed AS MATERIALIZED (
    SELECT shop, probe.at, probe.at IS NULL AND (EXISTS (
      SELECT FROM (
        SELECT * FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at <= ${opaqueNow}
        ORDER BY b.next_check_at ${IN_ORDER}) b WHERE ${free} ${ROW_BY_ROW}
    ) OR EXISTS (
      SELECT FROM (
        SELECT bill_id FROM payment_acceptance.callback c
        WHERE c.shop = s.shop AND c.pending AND c.bill_id IS NOT NULL AND c.due_at <= ${opaqueNow}
        ORDER BY c.due_at ${IN_ORDER}) c
      CROSS JOIN LATERAL (
        SELECT FROM payment_acceptance.bill b WHERE b.id = c.bill_id AND ${free} ${ROW_BY_ROW}) b ${ROW_BY_ROW})) AS due
    FROM payment_acceptance.shop_state s LEFT JOIN LATERAL (
      SELECT s.probe_at AS at WHERE s.refused_since IS NOT NULL AND s.probe_at BETWEEN ${now} AND ${later(now, probeMs)}) probe ON true
    WHERE shop = ANY(${opaque(shops, 'text[]')})
  )
  SELECT s.shop, s.due, ${postgres.epochMs('greatest(soon.at, s.at)')} AS next, ${postgres.epochMs(now)} AS now FROM followed s
  CROSS JOIN LATERAL (
    SELECT min(at) AS at FROM (
      SELECT ${claimableAt('b.next_check_at')} AS at FROM (
        SELECT * FROM payment_acceptance.bill b WHERE b.shop = s.shop AND b.next_check_at IS NOT NULL
        ORDER BY b.next_check_at LIMIT ${inSight}) b WHERE NOT s.due
      UNION ALL
      SELECT ${claimableAt('c.due_at')} FROM (
        SELECT bill_id, due_at FROM payment_acceptance.callback c
        WHERE c.shop = s.shop AND c.pending AND c.bill_id IS NOT NULL ORDER BY c.due_at LIMIT ${inSight}) c
      JOIN payment_acceptance.bill b ON b.id = c.bill_id WHERE NOT s.due) near
  ) soon ORDER BY s.shop`;
});

@Injectable()
export class PostgresDueStore extends DueStore {
  constructor(protected override readonly database: PostgresDatabase) {
    super();
  }

  override async registerShops(shops: readonly string[]): Promise<void> {
    await this.database.change(
      sql`INSERT INTO payment_acceptance.shop_state (shop, next_request_at)
       SELECT shop, '-infinity' FROM unnest(${shops}::text[]) AS shop ORDER BY 1 ON CONFLICT DO NOTHING`,
    );
  }

  /** Each first one is asked for in order, which the indexes of what is pending have, and no scan of a table. */
  override async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const rows = await this.database.execute(LOOK, { offsetMs: this.database.offsetMs, shops, probeMs }, FOLLOWED);
    return dueOf(
      rows,
      rows.flatMap(({ next, now }) => (next === null ? [] : next.getTime() - now.getTime())),
    );
  }
}
