import { rawSql, toSql, sql, type Expression, type Statement } from '../statement.js';

/*
 * Hints for PostgreSQL's planner, whose statistics lag behind tables that grow or shrink quickly.
 */

/** End of a subquery that must be evaluated per row: otherwise the planner might join whole tables. */
export const ROW_BY_ROW = rawSql('OFFSET 0');

/**
 * End of a subquery whose rows must be read in index order, only as many as are needed. It limits nothing: the planner
 * sees a limit of unknown value, so it does not read and sort all rows, however few it believes there are.
 */
export const IN_ORDER = rawSql('LIMIT (SELECT NULL::bigint)');

/**
 * A value hidden from the planner, so that its custom and generic plans cost the same and it keeps one plan for all
 * values. For lists, limits and bounds of prepared statements.
 */
export function opaque(value: Statement, type: string): Statement {
  return sql`(SELECT ${value}::${rawSql(type)})::${rawSql(type)}`;
}

/** Rows passed as a JSON array of objects. Must be followed by `AS row (name type, …)`. */
export function recordSet(json: Statement): Statement {
  return sql`json_to_recordset(${json}::json)`;
}

/**
 * A subquery of rows passed as a JSON array of objects, for statements that look up other rows for each of them.
 * Without the two limits, the planner assumes 100 rows, so it scans whole tables and may JIT-compile the statement.
 * Each limit of unknown value divides its estimate by ten, so it assumes one row and looks rows up by key.
 * @param columns from the source code, as in `id uuid, "intentId" uuid`: their names are the objects' keys
 */
export function rowsFromJson(json: Statement, columns: string): Statement {
  return sql`(SELECT * FROM (
    SELECT * FROM ${recordSet(json)} AS r (${rawSql(columns)}) ${IN_ORDER}) few ${IN_ORDER})`;
}

export function addMilliseconds(instant: Expression, ms: Expression): Statement {
  return sql`(${toSql(instant)} + (${toSql(ms)})::double precision * interval '1 millisecond')`;
}
