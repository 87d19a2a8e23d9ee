import type { Database } from '../../database/database.js';
import { instant, integer, type ColumnReaders } from '../../database/reading.js';
import { toSql, sql, type Expression, type Statement } from '../../database/statement.js';

export interface DueShops {
  readonly shops: readonly string[];
  /** Time until the next bill may be due; `null` if none is in sight. */
  readonly nextMs: number | null;
}

/** A shop with a bill that is due, or soon will be; one row without a shop if there is none. */
export interface ShopDueSoon {
  readonly shop: string | null;
  /** When the first of its bills in sight can be claimed; may be in the past. */
  readonly at: Date;
  /** When a refused shop is probed next, if that is in the future; otherwise `null`. */
  readonly probe: Date | null;
  /** How many due bills were read. */
  readonly seen: number;
  /** The database's clock. */
  readonly now: Date;
}

export const SHOP_DUE_SOON_READERS: ColumnReaders<ShopDueSoon> = {
  at: instant,
  probe: instant,
  seen: integer,
  now: instant,
};

/** How many due bills are read, longest due first. If there are more, the other shops are queried one by one. */
export const MAX_DUE_BILLS = 200;

/** How many upcoming bills, and upcoming callbacks of a shop, are read, so that claimed ones do not hide the others. */
export const MAX_NEXT_BILLS = 20;

/** When a bill `b` that is due at the given instant can be claimed. */
export function claimableAt(dueAt: Expression): Statement {
  return sql`greatest(${toSql(dueAt)}, b.check_after, coalesce(b.lease_until, b.check_after))`;
}

/** This store is queried before each claim; an idle instance makes no other query. */
export abstract class DueStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * A refused shop is due only when its probe is. The cost grows with the number of due bills, not with the number of
   * shops, as long as no more than {@link MAX_DUE_BILLS} bills are due.
   */
  async findDue(shops: readonly string[]): Promise<DueShops> {
    const dueSoon = await this.shopsDueSoon();
    const { seen = MAX_DUE_BILLS, now: readAt = new Date(0) } = dueSoon[0] ?? {};
    const now = readAt.getTime();
    const followed = new Set(shops);
    const due = new Set<string>();
    let next = Infinity;
    for (const { shop, at, probe } of dueSoon) {
      if (shop === null || !followed.has(shop)) continue;
      if (probe === null && at.getTime() <= now) due.add(shop);
      else next = Math.min(next, Math.max(at.getTime(), probe?.getTime() ?? 0));
    }
    if (seen >= MAX_DUE_BILLS) {
      const others = shops.filter((shop) => !due.has(shop));
      for (const shop of await this.filterDue(others)) due.add(shop);
    }
    return { shops: [...due].sort(), nextMs: next === Infinity ? null : Math.max(0, next - now) };
  }

  /** Finds the shops whichever instances follow them. Reads only indexes. */
  protected abstract shopsDueSoon(): Promise<readonly ShopDueSoon[]>;

  /** Queries each shop on its own. */
  protected abstract filterDue(shops: readonly string[]): Promise<readonly string[]>;

  /** Shops other than these with scheduled checks, and the number of their bills. */
  findUnfollowed(shops: readonly string[]): Promise<{ shop: string; bills: number }[]> {
    return this.database.rows<{ shop: string; bills: number }>({ bills: integer })`
      SELECT b.shop, count(*) AS bills FROM payment_acceptance.shop_state s
      JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.next_check_at IS NOT NULL
      WHERE s.shop ${this.database.dialect.noneOf(shops, 'text')} GROUP BY b.shop ORDER BY b.shop`;
  }
}
