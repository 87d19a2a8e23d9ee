import { toSql, sql, type Expression, type Statement } from './statement.js';

/** The condition that limits a statement to the rows with a value in a column; `null` for all rows. */
export function ofScope(column: Expression, scope: string | null): Statement {
  return scope === null ? sql`TRUE` : sql`${toSql(column)} = ${scope}`;
}
