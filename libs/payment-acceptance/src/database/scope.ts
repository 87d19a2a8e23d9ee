import { toSql, sql, type Expression, type Statement } from './statement.js';

/** What somebody may see and do: that of one shop, by its name; `null` for all shops. */
export type ShopScope = string | null;

/** The condition that limits a statement to the rows with a value in a column; `null` for all rows. */
export function ofScope(column: Expression, scope: string | null): Statement {
  return scope === null ? sql`TRUE` : sql`${toSql(column)} = ${scope}`;
}
