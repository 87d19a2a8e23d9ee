import { STATEMENT_FAILED } from '../../database/database.errors.js';

const INBOX_TABLE = 'payment_inbox';

export type InboxDialect = 'postgres' | 'mysql';

export interface InboxRecord {
  readonly consumer: string;
  readonly id: string;
}

/** @throws RangeError for an id or a name that the table cannot hold */
export function inboxRecord({ id }: { readonly id: string }, consumer: string): InboxRecord {
  checkText('id of the event', id, 255);
  checkText('name of the consumer', consumer, 100);
  return { consumer, id };
}

/** Takes the placeholders of the consumer and the event's id. */
export const findRecord = ([consumer, id]: readonly [string, string]): string =>
  `SELECT 1 FROM ${INBOX_TABLE} WHERE consumer = ${consumer} AND event_id = ${id}`;

export const insertRecord = ([consumer, id]: readonly [string, string]): string =>
  `INSERT INTO ${INBOX_TABLE} (consumer, event_id) VALUES (${consumer}, ${id})`;

/**
 * @throws Error if the record is missing: the transaction then ended before the work did, even if the work did not
 *   notice
 */
export async function verifyRecord({ id }: InboxRecord, find: () => Promise<readonly unknown[]>): Promise<void> {
  const rows = await find().catch((cause: unknown) => {
    throw new Error(STATEMENT_FAILED, { cause });
  });
  if (rows.length > 0) return;
  throw new Error(
    `The transaction of the event "${id}" was rolled back before its work was done: by a ROLLBACK on its connection, or by the ` +
      'database after a failed statement whose error your code caught. Do not acknowledge the event: it must be redelivered.',
  );
}

function checkText(what: string, text: unknown, maxLength: number): void {
  const fits = typeof text === 'string' && text.length > 0 && text.length <= maxLength && text.isWellFormed();
  // MySQL considers texts equal that differ only in trailing spaces.
  if (!fits || text.includes('\0') || text.trimEnd() !== text) {
    throw new RangeError(
      `The ${what} must be a well-formed string of 1 to ${maxLength} characters, without NUL or trailing whitespace.`,
    );
  }
}
