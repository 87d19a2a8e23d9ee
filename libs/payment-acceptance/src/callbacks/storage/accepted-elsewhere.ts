import type { Dialect } from '../../database/dialect.js';
import { sql, type Expression, type Statement } from '../../database/statement.js';

/** Whether no other integration has accepted a callback, according to its corroboration. */
export function notAcceptedElsewhere(dialect: Dialect, corroboration: Expression): Statement {
  return sql`coalesce(${dialect.jsonText(corroboration, 'forwarded')}, '') <> 'accepted'`;
}
