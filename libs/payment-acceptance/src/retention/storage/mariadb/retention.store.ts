import { sql, type Statement } from '../../../database/statement.js';
import { isOver } from '../redaction.js';
import { RetentionStore, type Old } from '../retention.store.js';

export class MariaRetentionStore extends RetentionStore {
  protected override unredactedCallbacks(before: Statement): Old {
    return { table: 'callback', condition: sql`t.unredacted_at < ${before}`, order: sql`t.unredacted_at` };
  }

  protected override unredactedBills(before: Statement): Old {
    const condition = sql`t.unredacted_at < ${before} AND ${isOver('t.intent_id')}`;
    return { table: 'bill', condition, order: sql`t.unredacted_at` };
  }

  protected override notedActions(before: Statement): Old {
    return { table: 'operator_action', condition: sql`t.noted_at < ${before}`, order: sql`t.noted_at` };
  }
}
