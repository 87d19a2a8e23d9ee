import { keyOf, type Database, type KeyedTable } from '../../database/database.js';
import type { OwnTransaction } from '../../database/own-transaction.js';
import { flag } from '../../database/reading.js';
import { remove } from '../../database/redactable.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import { IS_LOST } from '../../settlement/storage/lost-bills.js';
import { redactBills, redactableNotes, isOver } from './redaction.js';
import { ROW_BY_ROW } from '../../database/postgres/planner.js';

export interface OldRows {
  readonly table: KeyedTable;
  /** Selects the rows `t` that are old enough. */
  readonly condition: Statement;
  readonly order: Statement;
}

/** The evidence for an open review must stay. */
const HAS_NO_OPEN_REVIEW = sql`NOT EXISTS (
  SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = t.intent_id AND r.state = 'OPEN')`;

/**
 * Removes what is no longer needed, in batches. Touches only what has ended: pending callbacks, bills, payments,
 * events, reviews, dead letters and orders stay, whatever their age, though possibly without personal data. Each method
 * returns the number of rows; if that is `limit`, there may be more.
 */
export abstract class RetentionStore {
  constructor(protected readonly database: Database) {}

  /** Each database finds consumed callbacks with raw fields by an index of its own. */
  protected abstract unredactedCallbacks(before: Statement): OldRows;
  protected abstract unredactedBills(before: Statement): OldRows;
  protected abstract actionsWithNotes(before: Statement): OldRows;

  /** Keeps the outcome of the callbacks. */
  redactCallbacks(afterMs: number, limit: number): Promise<number> {
    const { table, condition, order } = this.unredactedCallbacks(this.database.now(-afterMs));
    return this.batch(
      { table, condition: sql`${condition} AND ${HAS_NO_OPEN_REVIEW}`, order },
      limit,
      (ids, tx) =>
        tx.change`
        UPDATE payment_acceptance.callback SET fields = '{}' WHERE id ${this.database.dialect.oneOf(ids, 'uuid')}`,
    );
  }

  deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    const condition = sql`t.pending = FALSE AND t.received_at < ${this.database.now(-afterMs)} AND ${HAS_NO_OPEN_REVIEW}`;
    return this.batch({ table: 'callback', condition, order: sql`t.received_at` }, limit, (ids, tx) =>
      this.database.delete(tx, 'callback', ids),
    );
  }

  /**
   * Removes the personal data of bills that are over and old enough, and marks them, so that what is learned of them
   * later is stored without any.
   * @param limit in bills
   */
  redactBills(afterMs: number, limit: number): Promise<number> {
    return this.batch(this.unredactedBills(this.database.now(-afterMs)), limit, (ids, tx) =>
      redactBills(this.database, ids, tx),
    );
  }

  /** Removes the notes; the actions stay. */
  redactNotes(afterMs: number, limit: number): Promise<number> {
    const { dialect } = this.database;
    return this.batch(this.actionsWithNotes(this.database.now(-afterMs)), limit, (ids, tx) =>
      remove(redactableNotes(dialect, sql`id ${dialect.oneOf(ids, 'uuid')}`), tx),
    );
  }

  /** Runs in one instance at a time. Finds rows first and locks them by key, so that it locks no others. */
  private batch(
    { table, condition, order }: OldRows,
    limit: number,
    work: (ids: readonly string[], tx: OwnTransaction) => Promise<number>,
  ): Promise<number> {
    const { text, retentionLock: turn } = this.database.dialect;
    return this.database.transaction(async (tx) => {
      const [taken] = await tx.rows<{ mine: boolean }>({ mine: flag })`SELECT ${turn.take} AS mine`;
      if (!taken?.mine) return 0;
      try {
        const candidates = await tx.withTimeout(LONG_STATEMENT_TIMEOUT_MS).rows<{ id: string }>({})`
          SELECT ${text(sql`t.${keyOf(table)}`)} AS id FROM payment_acceptance.${rawSql(table)} t
          WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`;
        if (candidates.length === 0) return 0;
        const candidateIds = candidates.map(({ id }) => id);
        return await work(await this.database.lockFree(tx, table, candidateIds, condition), tx);
      } finally {
        if (turn.end) await tx.change`${turn.end}`;
      }
    });
  }

  /** Affects only lost bills that somebody has dealt with: the ledger has them, or they are not ours. */
  async redactLostBills(afterMs: number, limit: number): Promise<number> {
    const { dialect } = this.database;
    const old = await this.database.rows<{ id: string }>({})`
      SELECT l.id FROM payment_acceptance.lost_bill l WHERE l.payments IS NOT NULL
      AND l.found_at < ${this.database.now(-afterMs)} AND NOT (${IS_LOST}) LIMIT ${limit}`;
    if (old.length === 0) return 0;
    const ids = old.map(({ id }) => id);
    return this.database.change`
      UPDATE payment_acceptance.lost_bill SET payments = NULL WHERE id ${dialect.oneOf(ids, 'uuid')}`;
  }
}

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
