import { toSql, sql, type Expression, type Statement } from '../../database/statement.js';

/** The outcome that the list is asked for because of a callback: what it asserts, or the success behind a redirect to the Success URL. */
export function expectedStatus(kind: Expression, status: Expression): Statement {
  return sql`CASE WHEN ${toSql(kind)} = 'redirect-success' THEN 'SUCCESS' ELSE ${assertedStatus(kind, status)} END`;
}

/** The outcome that a postback asserts; NULL for a redirect or an unknown status. */
export function assertedStatus(kind: Expression, status: Expression): Statement {
  return sql`CASE WHEN ${toSql(kind)} = 'postback' AND ${toSql(status)} IN ('SUCCESS', 'FAIL') THEN ${toSql(status)} END`;
}
