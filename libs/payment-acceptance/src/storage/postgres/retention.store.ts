import { Injectable } from '@nestjs/common';
import { Database } from '../database.js';
import type { RetentionStore } from '../retention.store.js';
import { NOW } from '../sql.js';

/** Any constant of ours: instances take turns on it, batch by batch. */
const ADVISORY_LOCK = 7_320_114_906;

/** An age, given as a parameter in milliseconds, counted back from the present moment. */
const BEFORE = (age: string): string => `${NOW} - ${age}::double precision * interval '1 millisecond'`;

/** What a person has yet to decide about keeps its evidence. */
const UNDECIDED = `EXISTS (SELECT 1 FROM payment_acceptance.review r WHERE r.bill_id = c.bill_id AND r.state = 'OPEN')`;

/** Each batch is one short statement that skips what others have locked, and does nothing while another instance is at it. */
@Injectable()
export class PostgresRetentionStore implements RetentionStore {
  constructor(private readonly database: Database) {}

  redactCallbacks(afterMs: number, limit: number): Promise<number> {
    return this.batch(
      `UPDATE payment_acceptance.callback SET fields = '{}'::jsonb WHERE id IN (
         SELECT c.id FROM payment_acceptance.callback c
         WHERE (SELECT mine FROM turn) AND NOT c.pending AND c.fields <> '{}'::jsonb AND c.received_at < ${BEFORE('$2')}
           AND NOT ${UNDECIDED}
         ORDER BY c.received_at LIMIT $3 FOR UPDATE OF c SKIP LOCKED) RETURNING id`,
      afterMs,
      limit,
    );
  }

  deleteCallbacks(afterMs: number, limit: number): Promise<number> {
    return this.batch(
      `DELETE FROM payment_acceptance.callback WHERE id IN (
         SELECT c.id FROM payment_acceptance.callback c
         WHERE (SELECT mine FROM turn) AND NOT c.pending AND c.received_at < ${BEFORE('$2')} AND NOT ${UNDECIDED}
         ORDER BY c.received_at LIMIT $3 FOR UPDATE OF c SKIP LOCKED) RETURNING id`,
      afterMs,
      limit,
    );
  }

  deleteDeliveries(afterMs: number, limit: number): Promise<number> {
    return this.batch(
      `DELETE FROM payment_acceptance.delivery WHERE id IN (
         SELECT d.id FROM payment_acceptance.delivery d
         WHERE (SELECT mine FROM turn) AND d.state = 'DONE' AND d.ended_at < ${BEFORE('$2')}
           AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery earlier WHERE earlier.bill_id = d.bill_id
             AND earlier.consumer = d.consumer AND earlier.seq < d.seq AND earlier.state <> 'DONE')
         ORDER BY d.ended_at LIMIT $3 FOR UPDATE OF d SKIP LOCKED) RETURNING id`,
      afterMs,
      limit,
    );
  }

  private async batch(statement: string, afterMs: number, limit: number): Promise<number> {
    const turn = `WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock($4) AS mine)`;
    const parameters = [this.database.offsetMs, afterMs, limit, ADVISORY_LOCK];
    return (await this.database.atReadCommitted(`${turn} ${statement}`, parameters)).length;
  }
}
