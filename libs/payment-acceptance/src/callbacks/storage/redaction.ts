import type { Redactable } from '../../database/redactable.js';
import { sql, toSql, type Expression, type Statement } from '../../database/statement.js';

/** The raw fields of callbacks. @param which selects the callbacks */
export function redactableCallbacks(which: Statement): Redactable {
  return {
    table: sql`payment_acceptance.callback`,
    condition: sql`${which} AND fields <> '{}'`,
    change: sql`fields = '{}'`,
  };
}

/** On PostgreSQL: the raw fields of a callback, none if the personal data of its bill `b` is removed. */
export function fieldsUnlessRedacted(fields: Expression): Statement {
  return sql`CASE WHEN b.redacted_at IS NULL THEN ${toSql(fields)} ELSE '{}'::jsonb END`;
}

/**
 * On PostgreSQL: the corroboration of a callback, an object, without `custom` if that of its bill `b` is removed: there is
 * nothing to compare with.
 */
export function corroborationUnlessRedacted(corroboration: Statement): Statement {
  return sql`(${corroboration} - CASE WHEN b.redacted_at IS NOT NULL AND b.custom_given THEN 'custom' ELSE '' END)`;
}
