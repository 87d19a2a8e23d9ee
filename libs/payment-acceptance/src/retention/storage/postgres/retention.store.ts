import { Injectable } from '@nestjs/common';
import { RetentionStore } from '../retention.store.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../../database/statement-timeout.js';
import { sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { isOver, redactBills } from '../redaction.js';
import { later, ROW_BY_ROW } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

/** An arbitrary constant: instances take turns, batch by batch. */
const ADVISORY_LOCK = 7_320_114_906;

/** Whether the bill has an open review: its evidence must stay. */
const UNDECIDED = sql`EXISTS (SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = c.intent_id AND r.state = 'OPEN')`;

/** A statement that runs only if it gets the lock, and returns a row for each that it has changed or locked. */
const batch = (statement: (given: { before: Statement; limit: Statement }) => Statement) =>
  prepare(['offsetMs', 'afterMs', 'limit', 'lock'], ({ offsetMs, afterMs, limit, lock }) => {
    const before = later(postgres.now(offsetMs), sql`-${afterMs}::double precision`);
    return sql`WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${lock}) AS mine)
      ${statement({ before, limit })}`.withTimeout(LONG_STATEMENT_TIMEOUT_MS);
  });

const REDACT_CALLBACKS = batch(
  ({ before, limit }) => sql`UPDATE payment_acceptance.callback SET fields = '{}'::jsonb WHERE id IN (
    SELECT c.id FROM payment_acceptance.callback c
    WHERE (SELECT mine FROM turn) AND NOT c.pending AND c.fields <> '{}'::jsonb AND c.received_at < ${before}
      AND NOT ${UNDECIDED}
    ORDER BY c.received_at LIMIT ${limit} FOR UPDATE OF c SKIP LOCKED) RETURNING id`,
);

const DELETE_CALLBACKS = batch(
  ({ before, limit }) => sql`DELETE FROM payment_acceptance.callback WHERE id IN (
    SELECT c.id FROM payment_acceptance.callback c
    WHERE (SELECT mine FROM turn) AND NOT c.pending AND c.received_at < ${before} AND NOT ${UNDECIDED}
    ORDER BY c.received_at LIMIT ${limit} FOR UPDATE OF c SKIP LOCKED) RETURNING id`,
);

const REDACT_NOTES = batch(
  ({ before, limit }) => sql`UPDATE payment_acceptance.operator_action SET detail = detail || '{"note":""}'::jsonb
    WHERE id IN (SELECT a.id FROM payment_acceptance.operator_action a
    WHERE (SELECT mine FROM turn) AND (a.detail ->> 'note') <> '' AND a.at < ${before}
    ORDER BY a.at LIMIT ${limit} FOR UPDATE OF a SKIP LOCKED) RETURNING id`,
);

/** Only locks them: their rows in other tables are read afterwards, so that none written meanwhile is missed. */
const LOCK_OLD_BILLS = batch(
  ({ before, limit }) => sql`SELECT b.intent_id AS "intentId" FROM payment_acceptance.bill b
    WHERE (SELECT mine FROM turn) AND b.redacted_at IS NULL AND b.next_check_at IS NULL
      AND b.state NOT IN ('CREATING', 'UNKNOWN') AND b.created_at < ${before} AND ${isOver('b.intent_id', ROW_BY_ROW)}
    ORDER BY b.created_at LIMIT ${limit} FOR NO KEY UPDATE OF b SKIP LOCKED`,
);

/** Each batch skips locked rows, and does nothing while another instance runs one. All but that of bills are one statement. */
@Injectable()
export class PostgresRetentionStore extends RetentionStore {
  constructor(protected override readonly database: PostgresDatabase) {
    super();
  }

  override redactCallbacks(afterMs: number, limit: number): Promise<number> {
    return this.run(REDACT_CALLBACKS, afterMs, limit);
  }

  override deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    return this.run(DELETE_CALLBACKS, afterMs, limit);
  }

  override redactBills(afterMs: number, limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const given = this.given(afterMs, limit);
      const rows = await this.database.execute<{ intentId: string }, keyof typeof given>(LOCK_OLD_BILLS, given, {}, tx);
      return redactBills(
        this.database,
        rows.map(({ intentId }) => intentId),
        tx,
      );
    });
  }

  override redactNotes(afterMs: number, limit: number): Promise<number> {
    return this.run(REDACT_NOTES, afterMs, limit);
  }

  private async run(statement: ReturnType<typeof batch>, afterMs: number, limit: number): Promise<number> {
    return (await this.database.executeAtReadCommitted(statement, this.given(afterMs, limit), {})).length;
  }

  private given(afterMs: number, limit: number) {
    return { offsetMs: this.database.offsetMs, afterMs, limit, lock: ADVISORY_LOCK };
  }
}
