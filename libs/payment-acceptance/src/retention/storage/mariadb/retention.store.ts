import { Injectable } from '@nestjs/common';
import { flag } from '../../../database/reading.js';
import { remove } from '../../../database/redactable.js';
import { isOver, redactBills, redactedNotes } from '../redaction.js';
import { RetentionStore } from '../retention.store.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../../database/statement-timeout.js';
import { rawSql, sql, type Statement } from '../../../database/statement.js';
import { keyOf, type MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

const LOCK = rawSql(`CONCAT('payment_acceptance:retention:', MD5(DATABASE()))`);
const DECIDED = sql`NOT EXISTS (
  SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = t.intent_id AND r.state = 'OPEN')`;

/** The rows of a batch. */
interface Old {
  readonly table: 'bill' | 'callback' | 'delivery' | 'operator_action';
  /** Selects the rows `t` that are old enough. */
  readonly condition: Statement;
  /** Sort order. */
  readonly order: Statement;
}

/** Finds rows first and locks them by key, so that no others are locked on the way. One batch at a time, by a named lock. */
@Injectable()
export class MariaRetentionStore extends RetentionStore {
  constructor(protected override readonly database: MariaDatabase) {
    super();
  }

  override redactCallbacks(afterMs: number, limit: number): Promise<number> {
    const condition = sql`t.unredacted_at < ${this.ago(afterMs)} AND ${DECIDED}`;
    return this.batch({ table: 'callback', condition, order: sql`t.unredacted_at` }, limit, (ids, tx) =>
      this.database.change(sql`UPDATE payment_acceptance.callback SET fields = '{}' WHERE id IN (${ids})`, tx),
    );
  }

  override deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    const condition = sql`t.pending = 0 AND t.received_at < ${this.ago(afterMs)} AND ${DECIDED}`;
    return this.delete({ table: 'callback', condition, order: sql`t.received_at` }, limit);
  }

  override redactBills(afterMs: number, limit: number): Promise<number> {
    const condition = sql`t.unredacted_at < ${this.ago(afterMs)} AND ${isOver('t.intent_id')}`;
    return this.batch({ table: 'bill', condition, order: sql`t.unredacted_at` }, limit, (ids, tx) =>
      redactBills(this.database, ids, tx),
    );
  }

  override redactNotes(afterMs: number, limit: number): Promise<number> {
    const condition = sql`t.noted_at < ${this.ago(afterMs)}`;
    return this.batch({ table: 'operator_action', condition, order: sql`t.noted_at` }, limit, (ids, tx) =>
      remove(this.database, redactedNotes(this.database.dialect, sql`id IN (${ids})`), tx),
    );
  }

  private delete(old: Old, limit: number): Promise<number> {
    return this.batch(old, limit, (ids, tx) => this.database.remove(tx, old.table, ids));
  }

  private batch(
    { table, condition, order }: Old,
    limit: number,
    work: (ids: readonly string[], tx: OwnTransaction) => Promise<number>,
  ): Promise<number> {
    const rows = sql`payment_acceptance.${rawSql(table)} t`;
    const key = sql`t.${keyOf(table)}`;
    return this.database.transaction(async (tx) => {
      const ids = async (statement: Statement): Promise<string[]> =>
        (await this.database.rows<{ id: string }>(statement, {}, tx)).map(({ id }) => id);
      const [turn] = await this.database.rows<{ mine: boolean }>(
        sql`SELECT GET_LOCK(${LOCK}, 0) AS mine`,
        { mine: flag },
        tx,
      );
      if (!turn?.mine) return 0;
      try {
        const found = await ids(
          sql`SELECT CAST(${key} AS CHAR) AS id FROM ${rows} WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`.withTimeout(
            LONG_STATEMENT_TIMEOUT_MS,
          ),
        );
        if (found.length === 0) return 0;
        const locked = await ids(
          sql`SELECT CAST(${key} AS CHAR) AS id FROM ${rows} FORCE INDEX (PRIMARY)
           WHERE ${key} IN (${found}) AND ${condition} FOR UPDATE SKIP LOCKED`,
        );
        return await work(locked, tx);
      } finally {
        await this.database.change(sql`DO RELEASE_LOCK(${LOCK})`, tx);
      }
    });
  }

  private ago(ms: number): Statement {
    return this.database.dialect.now(this.database.offsetMs - ms);
  }
}
