import { redactableCallbacks } from '../../callbacks/storage/callback.store.js';
import type { Database } from '../../database/database.js';
import type { Dialect } from '../../database/dialect.js';
import { remove, type Redactable } from '../../database/redactable.js';
import { rawSql, sql, toSql, type Expression, type Statement } from '../../database/statement.js';
import type { IntentId } from '../../domain/ids.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/**
 * What retention and erasure remove from the records of a bill: texts of the bill itself, the card numbers of its payments,
 * `custom` and `fromCard` of its events, the raw fields of its callbacks, and error texts of its deliveries.
 */
export type RedactedPart = 'bills' | 'payments' | 'events' | 'callbacks' | 'deliveries';

/** Keeps what identifies a payment and what bookkeeping needs; docs/privacy.md lists what is kept and removed. */
export function redactableParts(dialect: Dialect, intentIds: readonly IntentId[]): Record<RedactedPart, Redactable> {
  const ofBill = sql`intent_id ${dialect.oneOf(intentIds, 'uuid')}`;
  const { jsonText, jsonWith } = dialect;
  return {
    bills: {
      table: sql`payment_acceptance.bill`,
      condition: sql`${ofBill} AND (description IS NOT NULL OR name IS NOT NULL
        OR custom_given AND custom <> '' OR failure IS NOT NULL OR last_check_error IS NOT NULL)`,
      change: sql`description = NULL, name = NULL, custom = CASE WHEN custom_given THEN '' ELSE custom END,
        failure = NULL, last_check_error = NULL`,
    },
    payments: {
      table: sql`payment_acceptance.payment`,
      condition: sql`${ofBill} AND from_card IS NOT NULL`,
      change: sql`from_card = NULL`,
    },
    events: {
      table: sql`payment_acceptance.event`,
      condition: sql`${ofBill} AND ${jsonText('payload', 'redacted')} IS NULL`,
      // A bill that expired has no payment, so its event has no card.
      change: sql`payload = CASE name WHEN 'bill.expired' THEN ${jsonWith('payload', { custom: null, redacted: true })}
        ELSE ${jsonWith('payload', { custom: null, fromCard: null, redacted: true })} END`,
    },
    callbacks: redactableCallbacks(ofBill),
    deliveries: {
      table: sql`payment_acceptance.delivery`,
      condition: sql`${ofBill} AND last_error IS NOT NULL`,
      change: sql`last_error = NULL`,
    },
  };
}

/** @param which selects the actions */
export function redactableNotes({ jsonText, jsonWith }: Dialect, which: Statement): Redactable {
  return {
    table: sql`payment_acceptance.operator_action`,
    condition: sql`${which} AND ${jsonText('detail', 'note')} <> ''`,
    change: sql`detail = ${jsonWith('detail', { note: '' })}`,
  };
}

/**
 * Whether nothing recorded about a bill is still needed: no review is open, no callback waits for a check, and every
 * delivery is done.
 * @param id the column with the bill's id
 * @param end ends the subqueries, for the planner
 */
export function isOver(id: Expression, end: Statement = rawSql('')): Statement {
  const ofBill = sql`o.intent_id = ${toSql(id)}`;
  return sql`NOT EXISTS (SELECT 1 FROM payment_acceptance.review o WHERE ${ofBill} AND o.state = 'OPEN' ${end})
    AND NOT EXISTS (SELECT 1 FROM payment_acceptance.callback o WHERE ${ofBill} AND o.pending = TRUE ${end})
    AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery o WHERE ${ofBill} AND o.state <> 'DONE' ${end})`;
}

/** Marked bills get no personal data later. Returns how many were not marked before. */
export function markRedacted(database: Database, intentIds: readonly IntentId[], tx: OwnTransaction): Promise<number> {
  const { dialect } = database;
  return tx.change`UPDATE payment_acceptance.bill SET redacted_at = ${database.now()}
    WHERE intent_id ${dialect.oneOf(intentIds, 'uuid')} AND redacted_at IS NULL`;
}

/** The bills must be locked. */
export async function redactBills(
  database: Database,
  intentIds: readonly IntentId[],
  tx: OwnTransaction,
): Promise<number> {
  if (intentIds.length === 0) return 0;
  // First, since it locks the bills: whatever else is written about them comes either before the removal or after it.
  const marked = await markRedacted(database, intentIds, tx);
  for (const part of Object.values(redactableParts(database.dialect, intentIds))) await remove(part, tx);
  return marked;
}
