import { toSql, sql, type Expression, type Statement } from './statement.js';

/** Limits a statement to the rows of one shop, by name; `null` for all shops. */
export type ShopScope = string | null;

/** The condition that limits a statement to the scope. @param column holds the shop */
export function ofScope(column: Expression, scope: ShopScope): Statement {
  return scope === null ? sql`TRUE` : sql`${toSql(column)} = ${scope}`;
}
