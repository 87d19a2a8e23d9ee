import type { Database } from './database.js';
import { instant, integer, type Reading } from './reading.js';
import { toSql, sql, type Expression, type Statement } from './statement.js';

/** What waits to be checked. */
export interface Due {
  /** Shops with a bill that can be claimed now. */
  readonly shops: readonly string[];
  /** In how many milliseconds the next bill may be due; `null` where none is in sight. */
  readonly nextMs: number | null;
}

/** A shop of which a bill is due, or soon will be. */
export interface NearShop {
  readonly shop: string;
  /** When the first of its bills that are in sight can be claimed, which may be past. */
  readonly at: Date;
  /** When it is to be probed, where the service refuses it and that is to come; `null` for any other. */
  readonly probe: Date | null;
}

export interface Near {
  readonly shops: readonly NearShop[];
  /** Whether no other shop has a bill that is due. */
  readonly complete: boolean;
  /** The database's clock. */
  readonly now: Date;
}

/** As {@link DueStore.near} is selected; one row without a shop where none is near. */
export interface NearRow {
  readonly shop: string | null;
  readonly at: Date;
  readonly probe: Date | null;
  /** How many due bills were read. */
  readonly seen: number;
  readonly now: Date;
}

export const NEAR_ROW: Reading<NearRow> = { at: instant, probe: instant, seen: integer, now: instant };

/** How many due bills are read, in the order in which they are; where there are more, the other shops are looked at one by one. */
export const DUE_IN_SIGHT = 200;

/** How many of the next bills, and of a shop's next callbacks, are read: one that is claimed already hides no other. */
export const NEXT_IN_SIGHT = 20;

/** From when on a bill `b` can be claimed, if it is due at the instant given. */
export function claimableAt(dueAt: Expression): Statement {
  return sql`greatest(${toSql(dueAt)}, b.check_after, coalesce(b.lease_until, b.check_after))`;
}

export function nearOf(rows: readonly NearRow[]): Near {
  const [first] = rows;
  return {
    shops: rows.flatMap(({ shop, at, probe }) => (shop === null ? [] : { shop, at, probe })),
    complete: first !== undefined && first.seen < DUE_IN_SIGHT,
    now: first?.now ?? new Date(0),
  };
}

/** Which shops have something to be checked: asked before anything is claimed, and all that an idle instance asks. */
export abstract class DueStore {
  protected abstract readonly database: Database;

  /** Makes the shops known, so that their limits can be kept. */
  abstract registerShops(shops: readonly string[]): Promise<void>;

  /**
   * Which of the shops are due. A shop that the service refuses is due only when it is to be probed. What this costs grows
   * with what is due, not with the number of shops, as long as no more than {@link DUE_IN_SIGHT} bills are.
   */
  async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const near = await this.near(probeMs);
    const now = near.now.getTime();
    const followed = new Set(shops);
    const due = new Set<string>();
    let next = Infinity;
    for (const { shop, at, probe } of near.shops) {
      if (!followed.has(shop)) continue;
      if (probe === null && at.getTime() <= now) due.add(shop);
      else next = Math.min(next, Math.max(at.getTime(), probe?.getTime() ?? 0));
    }
    if (!near.complete) {
      const others = shops.filter((shop) => !due.has(shop));
      for (const shop of await this.dueOf(others, probeMs)) due.add(shop);
    }
    return { shops: [...due].sort(), nextMs: next === Infinity ? null : Math.max(0, next - now) };
  }

  /** Shops, of whatever instance, in the indexes of what is due. */
  protected abstract near(probeMs: number): Promise<Near>;

  /** Those of the shops that are due, each looked at by itself. */
  protected abstract dueOf(shops: readonly string[], probeMs: number): Promise<readonly string[]>;

  /** Shops that are not among these, with the number of their bills that were to be checked some time. */
  unfollowed(shops: readonly string[]): Promise<{ shop: string; bills: number }[]> {
    return this.database.rows(
      sql`SELECT b.shop, count(*) AS bills FROM payment_acceptance.shop_state s
       JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.next_check_at IS NOT NULL
       WHERE NOT (s.shop ${this.database.dialect.oneOf(shops, 'text')}) GROUP BY b.shop ORDER BY b.shop`,
      { bills: integer },
    );
  }
}
