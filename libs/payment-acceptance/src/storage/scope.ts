import { toSql, sql, type Expression, type Statement } from './statement.js';

/** Whose rows a statement sees and changes: those of the shop of that name; `null` those of all. */
export type ShopScope = string | null;

/** SQL that keeps a statement to the scope, by the column that holds the shop. */
export function ofScope(column: Expression, scope: ShopScope): Statement {
  return scope === null ? sql`TRUE` : sql`${toSql(column)} = ${scope}`;
}
