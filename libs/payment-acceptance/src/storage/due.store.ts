import type { Database } from './database.js';
import { integer } from './reading.js';
import { toSql, sql, type Expression, type Statement } from './statement.js';

/** What waits to be checked. */
export interface Due {
  /** Shops with a bill that can be claimed now. */
  readonly shops: readonly string[];
  /** In how many milliseconds the next bill may be due; `null` where none is in sight. */
  readonly nextMs: number | null;
}

/** How many of a shop's next bills are read to tell when one of them is due: one that is claimed already hides no other. */
export const IN_SIGHT = 20;

/** From when on a bill `b` can be claimed, if it is due at the instant given. */
export function claimableAt(dueAt: Expression): Statement {
  return sql`greatest(${toSql(dueAt)}, b.check_after, coalesce(b.lease_until, b.check_after))`;
}

/** @param pauses until the next bill of each shop that is not due, where one is in sight */
export function dueOf(shops: readonly { shop: string; due: boolean }[], pauses: readonly number[]): Due {
  return {
    shops: shops.filter(({ due }) => due).map(({ shop }) => shop),
    nextMs: pauses.length > 0 ? Math.max(0, Math.min(...pauses)) : null,
  };
}

/** Which shops have something to be checked: asked before anything is claimed, and all that an idle instance asks. */
export abstract class DueStore {
  protected abstract readonly database: Database;

  /** Makes the shops known, so that their limits can be kept. */
  abstract registerShops(shops: readonly string[]): Promise<void>;

  /** A shop that the service refuses is due only when it is to be probed. */
  abstract look(shops: readonly string[], probeMs: number): Promise<Due>;

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
