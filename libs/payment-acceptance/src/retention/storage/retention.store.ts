import { Injectable } from '@nestjs/common';
import { redactableCallbacks } from '../../callbacks/storage/callback.store.js';
import { Database, keyOf, type KeyedTable } from '../../database/database.js';
import type { OwnTransaction } from '../../database/own-transaction.js';
import { flag } from '../../database/reading.js';
import { remove } from '../../database/redactable.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import { IS_LOST } from '../../settlement/storage/lost-bills.js';
import { redactBills, redactableNotes, isOver } from './redaction.js';
import { ROW_BY_ROW } from '../../database/postgres/planner.js';

/** The evidence for an open review must stay. */
const HAS_NO_OPEN_REVIEW = sql`NOT EXISTS (
  SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = t.intent_id AND r.state = 'OPEN')`;

/**
 * Removes what is no longer needed, in batches. Touches only what has ended: pending callbacks, bills, payments,
 * events, reviews, dead letters and orders stay, whatever their age, though possibly without personal data. Each method
 * returns the number of rows; if that is `limit`, there may be more.
 */
@Injectable()
export class RetentionStore {
  constructor(private readonly database: Database) {}

  /** Keeps the outcome of the callbacks. */
  redactCallbacks(afterMs: number, limit: number): Promise<number> {
    const { is, since } = this.unredacted('callback');
    const rows = { is: sql`${is} AND ${HAS_NO_OPEN_REVIEW}`, since };
    return this.batch('callback', rows, afterMs, limit, (ids, tx) =>
      remove(redactableCallbacks(sql`id ${this.database.dialect.oneOf(ids, 'uuid')}`), tx),
    );
  }

  deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    const rows = { is: sql`t.pending = FALSE AND ${HAS_NO_OPEN_REVIEW}`, since: sql`t.received_at` };
    return this.batch('callback', rows, afterMs, limit, (ids, tx) => this.database.delete(tx, 'callback', ids));
  }

  /**
   * Removes the personal data of bills that are over and old enough, and marks them, so that what is learned of them
   * later is stored without any.
   * @param limit in bills
   */
  redactBills(afterMs: number, limit: number): Promise<number> {
    return this.batch('bill', this.unredacted('bill'), afterMs, limit, (ids, tx) =>
      redactBills(this.database, ids, tx),
    );
  }

  /** Removes the notes; the actions stay. */
  redactNotes(afterMs: number, limit: number): Promise<number> {
    const { dialect } = this.database;
    return this.batch('operator_action', this.unredacted('operator_action'), afterMs, limit, (ids, tx) =>
      remove(redactableNotes(dialect, sql`id ${dialect.oneOf(ids, 'uuid')}`), tx),
    );
  }

  private unredacted(table: keyof (typeof UNREDACTED)['postgres']): OldRows {
    return UNREDACTED[this.database.source.type][table];
  }

  /** Runs in one instance at a time. Finds rows first and locks them by key, so that it locks no others. */
  private batch(
    table: KeyedTable,
    { is, since }: OldRows,
    afterMs: number,
    limit: number,
    work: (ids: readonly string[], tx: OwnTransaction) => Promise<number>,
  ): Promise<number> {
    const { text, retentionLock: turn } = this.database.dialect;
    const condition = sql`${is} AND ${since} < ${this.database.now(-afterMs)}`;
    return this.database.transaction(async (tx) => {
      const [taken] = await tx.rows<{ mine: boolean }>({ mine: flag })`SELECT ${turn.take} AS mine`;
      if (!taken?.mine) return 0;
      try {
        const candidates = await tx.withTimeout(LONG_STATEMENT_TIMEOUT_MS).ids`
          SELECT ${text(sql`t.${keyOf(table)}`)} AS id FROM payment_acceptance.${rawSql(table)} t
          WHERE ${condition} ORDER BY ${since} LIMIT ${limit}`;
        if (candidates.length === 0) return 0;
        return await work(await this.database.lockFree(tx, table, candidates, condition), tx);
      } finally {
        // A connection that is lost has lost the lock, too: the error that matters is that of the work, or of COMMIT.
        if (turn.end) await tx.change`${turn.end}`.catch(() => undefined);
      }
    });
  }

  /** Affects only lost bills that somebody has dealt with: the ledger has them, or they are not ours. */
  async redactLostBills(afterMs: number, limit: number): Promise<number> {
    const { dialect } = this.database;
    const old = await this.database.ids`
      SELECT l.id FROM payment_acceptance.lost_bill l WHERE l.payments IS NOT NULL
      AND l.found_at < ${this.database.now(-afterMs)} AND NOT (${IS_LOST}) LIMIT ${limit}`;
    if (old.length === 0) return 0;
    return this.database.change`
      UPDATE payment_acceptance.lost_bill SET payments = NULL WHERE id ${dialect.oneOf(old, 'uuid')}`;
  }
}

interface OldRows {
  /** Selects the rows `t`, whatever their age. */
  readonly is: Statement;
  /** The time of a row from which its age counts. */
  readonly since: Statement;
}

/** What still has personal data. Each database finds it by indexes of its own. */
const UNREDACTED = {
  postgres: {
    callback: { is: sql`NOT t.pending AND t.fields <> '{}'::jsonb`, since: sql`t.received_at` },
    bill: {
      is: sql`t.redacted_at IS NULL AND t.next_check_at IS NULL AND t.state NOT IN ('CREATING', 'UNKNOWN')
        AND ${isOver('t.intent_id', ROW_BY_ROW)}`,
      since: sql`t.created_at`,
    },
    operator_action: { is: sql`(t.detail ->> 'note') <> ''`, since: sql`t.at` },
  },
  mariadb: {
    callback: { is: sql`TRUE`, since: sql`t.unredacted_at` },
    bill: { is: isOver('t.intent_id'), since: sql`t.unredacted_at` },
    operator_action: { is: sql`TRUE`, since: sql`t.noted_at` },
  },
};
