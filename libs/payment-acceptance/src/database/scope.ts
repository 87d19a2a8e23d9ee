import { toSql, sql, type Expression, type Statement } from './statement.js';

/** What somebody has access to: one shop, by its name, or `null` for all shops. */
export type ShopScope = string | null;

/** The condition that limits a statement to rows whose column has the value of `scope`; `null` for all rows. */
export function ofScope(column: Expression, scope: string | null): Statement {
  return scope === null ? sql`TRUE` : sql`${toSql(column)} = ${scope}`;
}
