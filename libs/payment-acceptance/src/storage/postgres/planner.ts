import { rawSql, toSql, sql, type Expression, type Statement } from '../statement.js';

/*
 * What statements tell PostgreSQL's planner. It makes a plan for tables of the size that they had when it last looked.
 */

/** The end of a subquery that is to be looked up for each row that needs it, where the planner would join whole tables. */
export const ROW_BY_ROW = rawSql('OFFSET 0');

/**
 * The end of a subquery whose rows are to be read in the order of an index, as many as are taken: no limit. The planner
 * sees that there is one, and not which, so it does not read all to sort them, however few it believes there are.
 */
export const IN_ORDER = rawSql('LIMIT (SELECT NULL::bigint)');

/**
 * A value that the planner does not see: what it expects of one value and of any are then the same, so that it keeps one
 * plan for all of them. For lists, limits and bounds of prepared statements.
 */
export function opaque(value: Statement, type: string): Statement {
  return sql`(SELECT ${value}::${rawSql(type)})::${rawSql(type)}`;
}

/** Rows given as a JSON array of objects, as `AS row (name type, …)` follows to say. */
export function recordSet(json: Statement): Statement {
  return sql`json_to_recordset(${json}::json)`;
}

/**
 * A subquery of rows given as a JSON array of objects, for statements that look up other rows for each of them. Without the
 * two limits the planner assumes 100 rows, so it scans whole tables and may compile the statement; each limit that it cannot
 * see makes it assume a tenth, so it assumes one row, and uses the keys.
 * @param columns as in `id uuid, name text`
 */
export function givenRows(json: Statement, columns: Lowercase<string>): Statement {
  return sql`(SELECT * FROM (
    SELECT * FROM ${recordSet(json)} AS r (${rawSql(columns)}) ${IN_ORDER}) few ${IN_ORDER})`;
}

/** An instant so many milliseconds later. */
export function later(instant: Expression, ms: Expression): Statement {
  return sql`(${toSql(instant)} + (${toSql(ms)})::double precision * interval '1 millisecond')`;
}
