import { LONG_STATEMENT_TIMEOUT_MS } from './statement-timeout.js';
import type { Statement } from './statement.js';
import type { OwnTransaction } from './own-transaction.js';

/** Rows that hold personal data, and the change that removes it. */
export interface Redactable {
  readonly table: Statement;
  /** Selects the rows that still hold some. */
  readonly condition: Statement;
  readonly change: Statement;
}

export function remove({ table, condition, change }: Redactable, tx: OwnTransaction): Promise<number> {
  return tx.withTimeout(LONG_STATEMENT_TIMEOUT_MS).change`UPDATE ${table} SET ${change} WHERE ${condition}`;
}
