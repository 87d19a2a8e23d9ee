import { sql, type Statement } from '../../../database/statement.js';
import { isOver } from '../redaction.js';
import { RetentionStore, type OldRows } from '../retention.store.js';

export class MariaRetentionStore extends RetentionStore {
  protected override unredactedCallbacks(before: Statement): OldRows {
    return { table: 'callback', condition: sql`t.unredacted_at < ${before}`, order: sql`t.unredacted_at` };
  }

  protected override unredactedBills(before: Statement): OldRows {
    const condition = sql`t.unredacted_at < ${before} AND ${isOver('t.intent_id')}`;
    return { table: 'bill', condition, order: sql`t.unredacted_at` };
  }

  protected override actionsWithNotes(before: Statement): OldRows {
    return { table: 'operator_action', condition: sql`t.noted_at < ${before}`, order: sql`t.noted_at` };
  }
}
