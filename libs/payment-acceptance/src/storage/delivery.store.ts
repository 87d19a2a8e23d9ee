import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { BillState } from '../domain/bill.js';
import type { DeliveryId } from '../domain/ids.js';
import { Database } from './database.js';
import { IN_ORDER, NOW, ROW_BY_ROW, epochMs, inMs, rowsOf, opaque } from './sql.js';

/** A consumer of one event, hosted by this instance. */
export interface HostedConsumer {
  readonly name: string;
  readonly event: string;
  readonly shops: readonly string[] | null;
}

/** A delivery whose attempt has been counted and committed; it may run until its lease ends. */
export interface ClaimedDelivery {
  readonly id: DeliveryId;
  readonly token: string;
  readonly consumer: string;
  readonly eventName: string;
  /** This attempt's number: 1 for the first. */
  readonly attempt: number;
  /** The event as JSON. */
  readonly payload: string;
  /** Whether a later event of the same bill has reached the consumer before. */
  readonly late: boolean;
  /** Whether the consumer has no other delivery of the bill. */
  readonly alone: boolean;
  /** State of the bill now. */
  readonly billState: BillState;
  /** Where the trace of the settlement goes on. */
  readonly traceparent: string | null;
}

/** How many of a consumer's next deliveries are read to tell when one of them is due. */
const IN_SIGHT = opaque('20', 'int');

/** The consumers that {@link listed} gives, from this parameter on. */
const HOSTED = (first: number): string =>
  `SELECT * FROM ${rowsOf(first, 'text', 'text', 'jsonb')} AS given (consumer, event_name, shops)`;

/** Names, events and shops; of these an array of arrays would have to be rectangular. */
function listed(consumers: readonly HostedConsumer[]): [string[], string[], (string | null)[]] {
  return [
    consumers.map(({ name }) => name),
    consumers.map(({ event }) => event),
    consumers.map(({ shops }) => shops && JSON.stringify(shops)),
  ];
}

/** Whether a consumer names the shop of a delivery `d`. */
const NAMES_ITS_SHOP = (consumer: string): string => `(${consumer}.shops IS NULL OR ${consumer}.shops @> to_jsonb((
  SELECT e.shop FROM payment_acceptance.event e WHERE e.id = d.event_id)))`;

const LIMIT = opaque('$3', 'int');

/**
 * States of deliveries that are looked up by their id or their bill: in words that fit none of the indexes of what waits or
 * is done. Where PostgreSQL believes one of those small, it would read all of it for one row or a few.
 */
const IS_PENDING = (state: string): string => `${state} NOT IN ('DONE', 'DEAD')`;
const IS_DONE = (state: string): string => `${state} NOT IN ('PENDING', 'DEAD')`;

/** See `DeliveryStore.claim`. */
const CLAIM_DELIVERIES = `WITH hosted AS (${HOSTED(4)}), due AS (
    SELECT d.id FROM hosted CROSS JOIN LATERAL (
      SELECT d.id, next.due_at, next.seq FROM (
        SELECT n.id, n.due_at, n.seq FROM payment_acceptance.delivery n
        WHERE n.consumer = hosted.consumer AND n.event_name = hosted.event_name AND n.state = 'PENDING'
          AND n.due_at <= ${NOW} ORDER BY n.due_at, n.seq ${IN_ORDER}) next
      CROSS JOIN LATERAL (
        SELECT d.id FROM payment_acceptance.delivery d WHERE d.id = next.id AND ${IS_PENDING('d.state')}
          AND ${NAMES_ITS_SHOP('hosted')} AND d.due_at <= ${NOW} AND (d.lease_until IS NULL OR d.lease_until < ${NOW} AND d.attempts < $9::int)
          AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery earlier
            JOIN payment_acceptance.consumer c ON c.name = earlier.consumer AND c.event_name = earlier.event_name
            WHERE ${IS_PENDING('earlier.state')} AND earlier.bill_id = d.bill_id AND earlier.consumer = d.consumer
              AND earlier.seq < d.seq AND c.last_seen_at >= ${NOW} - $8::double precision * interval '1 millisecond'
              AND (earlier.due_at >= ${NOW} - $8::double precision * interval '1 millisecond'
                OR NOT EXISTS (SELECT 1 FROM hosted own WHERE own.consumer = earlier.consumer
                  AND own.event_name = earlier.event_name AND NOT ${NAMES_ITS_SHOP('own')}))
            ${ROW_BY_ROW})
          AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery running WHERE ${IS_PENDING('running.state')}
            AND running.bill_id = d.bill_id AND running.consumer = d.consumer AND running.id <> d.id
            AND running.lease_until >= ${NOW} ${ROW_BY_ROW})
        FOR UPDATE SKIP LOCKED) d
      LIMIT ${LIMIT}) d
    ORDER BY d.due_at, d.seq LIMIT ${LIMIT}
  )
  UPDATE payment_acceptance.delivery d SET attempts = attempts + 1, lease_token = $7, lease_until = ${inMs('$2')}
  FROM due, payment_acceptance.event e, payment_acceptance.bill b
  WHERE d.id = due.id AND e.id = d.event_id AND b.id = d.bill_id
  RETURNING d.id::text AS id, d.lease_token AS token, d.consumer, d.event_name AS "eventName",
    d.attempts AS attempt, e.payload::text AS payload, e.traceparent, b.state AS "billState",
    EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.bill_id = d.bill_id
      AND later.consumer = d.consumer AND later.seq > d.seq AND ${IS_DONE('later.state')}) AS late,
    NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery other WHERE other.bill_id = d.bill_id
      AND other.consumer = d.consumer AND other.id <> d.id) AS alone`;

const NEXT_DUE = `SELECT ${epochMs('min(soon.at)')} AS next, ${epochMs(NOW)} AS now
  FROM (${HOSTED(2)}) hosted CROSS JOIN LATERAL (
    SELECT greatest(d.due_at, d.lease_until) AS at FROM payment_acceptance.delivery d
    WHERE d.consumer = hosted.consumer AND d.event_name = hosted.event_name AND d.state = 'PENDING'
      AND ${NAMES_ITS_SHOP('hosted')}
    ORDER BY d.due_at, d.seq LIMIT ${IN_SIGHT}) soon WHERE soon.at > ${NOW}`;

const COMPLETE_IN_TURN = `UPDATE payment_acceptance.delivery d SET state = 'DONE', ended_at = ${NOW}, lease_token = NULL, lease_until = NULL,
    last_error = NULL
  FROM payment_acceptance.delivery claimed
  WHERE claimed.id = d.id AND d.id = $2 AND d.lease_token = $3 AND ${IS_PENDING('d.state')}
  RETURNING EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.bill_id = d.bill_id
      AND later.consumer = d.consumer AND later.seq > d.seq AND ${IS_DONE('later.state')}) AS late,
    EXISTS (SELECT 1 FROM payment_acceptance.delivery rival WHERE ${IS_PENDING('rival.state')}
      AND rival.bill_id = d.bill_id AND rival.consumer = d.consumer AND rival.lease_until >= ${NOW}
      AND (rival.lease_until, rival.id) < (claimed.lease_until, d.id)) AS rivalled`;

const COMPLETE = `UPDATE payment_acceptance.delivery SET state = 'DONE', ended_at = ${NOW}, lease_token = NULL, lease_until = NULL,
    last_error = NULL
  WHERE id = $2 AND lease_token = $3 AND ${IS_PENDING('state')} RETURNING id`;

/** Consumers and their deliveries. */
@Injectable()
export class DeliveryStore {
  constructor(private readonly database: Database) {}

  /**
   * Makes the consumers known: from its commit on, every settlement of any instance creates their deliveries. Called
   * again and again while they are hosted: what nobody hosts any more holds nothing back. The shops of a consumer only
   * grow: while a release is rolled out, instances that name fewer than others would otherwise take those away again.
   */
  async register(consumers: readonly HostedConsumer[]): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.consumer (name, event_name, shops, registered_at, last_seen_at)
       SELECT consumer, event_name, CASE WHEN shops IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(shops)) END,
         ${NOW}, ${NOW} FROM (${HOSTED(2)}) hosted ORDER BY 1, 2
       ON CONFLICT (name, event_name) DO UPDATE SET last_seen_at = excluded.last_seen_at,
         shops = CASE WHEN consumer.shops IS NOT NULL AND excluded.shops IS NOT NULL
           THEN ARRAY(SELECT DISTINCT shop FROM unnest(consumer.shops || excluded.shops) AS shop ORDER BY 1) END`,
      [this.database.offsetMs, ...listed(consumers)],
    );
  }

  /** Those of the consumers that are known with more shops than they have here; `shops` are those that they lack. */
  async consumersMissingShops(consumers: readonly HostedConsumer[]): Promise<HostedConsumer[]> {
    const known = await this.known();
    return consumers.flatMap(({ name, event, shops }) => {
      const other = known.find((each) => each.name === name && each.event === event);
      if (!other || !shops) return [];
      const lacking = other.shops && other.shops.filter((shop) => !shops.includes(shop));
      return lacking?.length === 0 ? [] : { name, event, shops: lacking };
    });
  }

  protected known(): Promise<HostedConsumer[]> {
    return this.database.query(
      `SELECT name, event_name AS event, to_jsonb(shops) AS shops FROM payment_acceptance.consumer ORDER BY 1, 2`,
      [],
    );
  }

  /**
   * Counts an attempt and leases the delivery, before anything of it runs. Within a bill and consumer only the earliest
   * pending delivery is eligible, and none while another one runs, so they go in settlement order, one at a time. Those of
   * shops that a consumer does not name here are left to instances where it does. Earlier ones that nobody has hosted for
   * `absentMs`, or that are of such a shop and have been due for so long, hold nothing back: they may wait for ever. One
   * whose last attempt never ended is left to `deadLetterExhausted`.
   */
  async claim(
    hosted: readonly HostedConsumer[],
    limit: number,
    leaseMs: number,
    token: string,
    absentMs: number,
    maxAttempts: number,
  ): Promise<ClaimedDelivery[]> {
    return this.database.atReadCommitted<ClaimedDelivery>(CLAIM_DELIVERIES, [
      this.database.offsetMs,
      leaseMs,
      limit,
      ...listed(hosted),
      token,
      absentMs,
      maxAttempts,
    ]);
  }

  /** In how many milliseconds the next delivery to one of these consumers may be due; `null` where none is in sight. */
  async nextDueMs(hosted: readonly HostedConsumer[]): Promise<number | null> {
    const [row] = await this.database.prepared<{ next: string | null; now: string }>(NEXT_DUE, [
      this.database.offsetMs,
      ...listed(hosted),
    ]);
    return typeof row?.next === 'string' ? Number(row.next) - Number(row.now) : null;
  }

  /** Deliveries whose every attempt was begun and none ended (a handler that kills its process) become dead letters. */
  async deadLetterExhausted(maxAttempts: number): Promise<{ id: string; consumer: string }[]> {
    return this.database.query(
      `UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = ${NOW}, lease_token = NULL, lease_until = NULL,
         last_error = coalesce(last_error, 'The process ended during the last attempt.')
       WHERE id IN (SELECT id FROM payment_acceptance.delivery
         WHERE state = 'PENDING' AND attempts >= $2 AND lease_until < ${NOW} LIMIT 100 FOR UPDATE SKIP LOCKED)
       RETURNING id::text AS id, consumer`,
      [this.database.offsetMs, maxAttempts],
    );
  }

  /**
   * Marks the delivery done, at the start of the transaction that its handler then runs in: all of it commits, or nothing.
   * Only if the attempt's token still holds, and no other delivery of the bill was claimed at the same moment and a little
   * earlier; says whether a later event has reached the consumer meanwhile. One that was `alone` when it was claimed has
   * had neither: what was settled since comes after it, and is not claimed before its end.
   */
  async completeWith(manager: EntityManager, delivery: ClaimedDelivery): Promise<{ late: boolean } | undefined> {
    if (delivery.alone) return (await this.complete(delivery, manager)) ? { late: false } : undefined;
    const [row] = await this.database.prepared<{ late: boolean; rivalled: boolean }>(
      COMPLETE_IN_TURN,
      [this.database.offsetMs, delivery.id, delivery.token],
      manager,
    );
    if (row?.rivalled) throw new Error('Another delivery of the same bill to the same consumer is under way.');
    return row && { late: row.late };
  }

  /** Gives a claim back whose attempt never began: it does not count. */
  async release(delivery: ClaimedDelivery): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.delivery SET attempts = attempts - 1, lease_token = NULL, lease_until = NULL
       WHERE id = $1 AND lease_token = $2 AND ${IS_PENDING('state')}`,
      [delivery.id, delivery.token],
    );
  }

  /** Gives a claim back for a while, whose attempt does not count; `false` if the token was replaced, or it is done. */
  async giveBack(delivery: ClaimedDelivery, error: string, pauseMs: number): Promise<boolean> {
    const given = await this.database.query(
      `UPDATE payment_acceptance.delivery SET last_error = $5, attempts = attempts - 1, lease_token = NULL,
         lease_until = NULL, due_at = ${inMs('$2')}
       WHERE id = $3 AND lease_token = $4 AND ${IS_PENDING('state')} RETURNING id`,
      [this.database.offsetMs, pauseMs, delivery.id, delivery.token, error],
    );
    return given.length === 1;
  }

  /** Marks the delivery done; `false` if the token was replaced. */
  async complete(delivery: ClaimedDelivery, manager?: EntityManager): Promise<boolean> {
    const rows = await this.database.prepared(COMPLETE, [this.database.offsetMs, delivery.id, delivery.token], manager);
    return rows.length === 1;
  }

  /** Puts the delivery off, or, with no pause, makes it a dead letter; `false` if the token was replaced, or it is done. */
  async fail(delivery: ClaimedDelivery, error: string, pauseMs: number | null): Promise<boolean> {
    const failed = await this.database.query(
      `UPDATE payment_acceptance.delivery SET last_error = $5, lease_token = NULL, lease_until = NULL,
         state = CASE WHEN $2::int IS NULL THEN 'DEAD' ELSE 'PENDING' END,
         due_at = CASE WHEN $2::int IS NULL THEN due_at ELSE ${inMs('$2::int')} END,
         ended_at = CASE WHEN $2::int IS NULL THEN ${NOW} END
       WHERE id = $3 AND lease_token = $4 AND ${IS_PENDING('state')} RETURNING id`,
      [this.database.offsetMs, pauseMs, delivery.id, delivery.token, error],
    );
    return failed.length === 1;
  }

  /** Consumers that no instance has hosted for a while, with what waits for them. */
  async absent(afterMs: number): Promise<{ name: string; event: string; waiting: number }[]> {
    return this.database.query(
      `SELECT c.name, c.event_name AS event, (SELECT count(*)::int FROM (
           SELECT 1 FROM payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.consumer = c.name
             AND d.event_name = c.event_name LIMIT 10000) waiting) AS waiting
       FROM payment_acceptance.consumer c
       WHERE c.last_seen_at < ${NOW} - $2::double precision * interval '1 millisecond' ORDER BY 1, 2`,
      [this.database.offsetMs, afterMs],
    );
  }
}
