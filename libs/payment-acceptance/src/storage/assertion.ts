import { toSql, sql, type Expression, type Statement } from './statement.js';

/** What a postback asserts to have happened; a redirect, and an unknown status, assert nothing. */
export function assertedStatus(kind: Expression, status: Expression): Statement {
  return sql`CASE WHEN ${toSql(kind)} = 'postback' AND ${toSql(status)} IN ('SUCCESS', 'FAIL') THEN ${toSql(status)} END`;
}
