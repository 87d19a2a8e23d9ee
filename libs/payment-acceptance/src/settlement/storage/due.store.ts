import type { Database } from '../../database/database.js';
import { instant, integer, type Reading } from '../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../database/statement.js';

/** What is due to be checked. */
export interface Due {
  /** Shops with a bill that can be claimed now. */
  readonly shops: readonly string[];
  /** In how many milliseconds the next bill may be due; `null` if none is in sight. */
  readonly nextMs: number | null;
}

/** A shop with a bill that is due, or soon will be. */
export interface NearShop {
  readonly shop: string;
  /** When the first of its bills in sight can be claimed; may be in the past. */
  readonly at: Date;
  /** When a refused shop is probed next, if that is in the future; otherwise `null`. */
  readonly probe: Date | null;
}

export interface Near {
  readonly shops: readonly NearShop[];
  /** Whether no other shop has a due bill. */
  readonly complete: boolean;
  /** The database's clock. */
  readonly now: Date;
}

/** A row of {@link DueStore.shopsDueSoon}; one row without a shop if no shop is near. */
export interface NearRow {
  readonly shop: string | null;
  readonly at: Date;
  readonly probe: Date | null;
  /** How many due bills were read. */
  readonly seen: number;
  readonly now: Date;
}

export const NEAR_ROW: Reading<NearRow> = { at: instant, probe: instant, seen: integer, now: instant };

/** How many due bills are read, longest due first. If there are more, the other shops are queried one by one. */
export const DUE_IN_SIGHT = 200;

/** How many upcoming bills, and upcoming callbacks of a shop, are read, so that claimed ones do not hide the others. */
export const NEXT_IN_SIGHT = 20;

/** When a bill `b` that is due at the given instant can be claimed. */
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

/** Which shops have due bills: queried before each claim, and the only query of an idle instance. */
export abstract class DueStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * Which of the shops are due. A refused shop is due only when its probe is. The cost grows with the number of due bills,
   * not with the number of shops, as long as no more than {@link DUE_IN_SIGHT} bills are due.
   */
  async look(shops: readonly string[], probeMs: number): Promise<Due> {
    const near = await this.shopsDueSoon(probeMs);
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

  /** The shops, of any instance, in the indexes of due bills. */
  protected abstract shopsDueSoon(probeMs: number): Promise<Near>;

  /** Those of the shops that are due, each queried by itself. */
  protected abstract dueOf(shops: readonly string[], probeMs: number): Promise<readonly string[]>;

  /** Shops other than these that have bills with a scheduled check, and the number of those bills. */
  unfollowed(shops: readonly string[]): Promise<{ shop: string; bills: number }[]> {
    return this.database.rows(
      sql`SELECT b.shop, count(*) AS bills FROM payment_acceptance.shop_state s
       JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.next_check_at IS NOT NULL
       WHERE s.shop ${this.database.dialect.noneOf(shops, 'text')} GROUP BY b.shop ORDER BY b.shop`,
      { bills: integer },
    );
  }
}
