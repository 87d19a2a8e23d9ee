import { ROW_BY_ROW } from '../../../database/postgres/planner.js';
import { sql, type Statement } from '../../../database/statement.js';
import { isOver } from '../redaction.js';
import { RetentionStore, type OldRows } from '../retention.store.js';

export class PostgresRetentionStore extends RetentionStore {
  protected override unredactedCallbacks(before: Statement): OldRows {
    const condition = sql`NOT t.pending AND t.fields <> '{}'::jsonb AND t.received_at < ${before}`;
    return { table: 'callback', condition, order: sql`t.received_at` };
  }

  protected override unredactedBills(before: Statement): OldRows {
    const condition = sql`t.redacted_at IS NULL AND t.next_check_at IS NULL AND t.state NOT IN ('CREATING', 'UNKNOWN')
      AND t.created_at < ${before} AND ${isOver('t.intent_id', ROW_BY_ROW)}`;
    return { table: 'bill', condition, order: sql`t.created_at` };
  }

  protected override actionsWithNotes(before: Statement): OldRows {
    const condition = sql`(t.detail ->> 'note') <> '' AND t.at < ${before}`;
    return { table: 'operator_action', condition, order: sql`t.at` };
  }
}
