import {
  DeliveryStore,
  isPending,
  attemptLimitOf,
  ORDER_NOT_FOUND,
  withDeliveryId,
  CONSUMER_ABSENT_MS,
  EXHAUSTED_SCAN_LIMIT,
  HOLDING_ATTEMPTS,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type CompletedDelivery,
  type ClaimedRow,
  type DeliveryLock,
  type DeliveryClaim,
  type DeliveryQueue,
  type HostedConsumer,
} from '../delivery.store.js';
import { HandlerTransactionEndedError, STATEMENT_FAILED } from '../../../database/database.errors.js';
import { isInFailedTransaction } from '../../../database/query-errors.js';
import { flag, instant, integer, json, type ColumnReaders } from '../../../database/reading.js';
import { rawSql, toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { IN_ORDER, ROW_BY_ROW, rowsFromJson, addMilliseconds, opaque } from '../../../database/postgres/planner.js';
import { idleTimeout, type PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import type { EnclosingTransaction } from '../../../database/database.js';
import { prepare } from '../../../database/postgres/prepare.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

/** How many of a consumer's next deliveries are read to find out when one is due. */
const IN_SIGHT = opaque(sql`20`, 'int');

function hostedOf(consumers: Statement): Statement {
  return rowsFromJson(consumers, 'consumer text, event_name text, shops jsonb');
}

function consumersJson(consumers: readonly HostedConsumer[]): string {
  return JSON.stringify(consumers.map(({ name, event, shops }) => ({ consumer: name, event_name: event, shops })));
}

const DELIVERY_SHOP = sql`to_jsonb((SELECT e.shop FROM payment_acceptance.event e WHERE e.id = d.event_id))`;

function namesItsShop(consumer: Expression): Statement {
  return sql`(${toSql(consumer)}.shops IS NULL OR ${toSql(consumer)}.shops @> ${DELIVERY_SHOP})`;
}

/** Whether a delivery is done, phrased like {@link isPending} so that it does not fit the index of finished rows. */
function isDone(state: Expression): Statement {
  return sql`${toSql(state)} NOT IN ('PENDING', 'DEAD')`;
}

/** Whether an earlier delivery of a queue holds back those after it; see `DeliveryStore.free`. */
function holdsBack(earlier: Expression, now: Statement): Statement {
  const each = toSql(earlier);
  const longAgo = sql`${now} - ${rawSql(String(CONSUMER_ABSENT_MS))} * interval '1 millisecond'`;
  return sql`${each}.attempts < ${rawSql(String(HOLDING_ATTEMPTS))} AND EXISTS (
    SELECT 1 FROM payment_acceptance.consumer c WHERE c.name = ${each}.consumer AND c.event_name = ${each}.event_name
      AND c.last_seen_at >= ${longAgo})
  AND (${each}.due_at >= ${longAgo} OR NOT EXISTS (SELECT 1 FROM hosted own
    WHERE own.consumer = ${each}.consumer AND own.event_name = ${each}.event_name AND NOT ${namesItsShop('own')}))`;
}

/** A row of a claim; without a delivery, it holds only `nextMs`. */
type ClaimRow = Omit<ClaimedRow, 'id'> & { readonly id: string | null; readonly nextMs: number | null };

const CLAIM_ROW_READERS: ColumnReaders<ClaimRow> = {
  ...{ attempt: integer, isReplay: flag, orderWasMissing: flag, assertedAt: instant, late: flag, nextMs: integer },
};

/** Whether a later event of the bill has reached the consumer of a delivery `d` before `d` itself. */
const IS_LATE = sql`EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.intent_id = d.intent_id
  AND later.consumer = d.consumer AND later.seq > d.seq AND ${isDone('later.state')})`;

const CLAIM_DELIVERIES = prepare(
  ['leaseMs', 'limit', 'hosted', 'foreignShops', 'token', 'maxAttempts'],
  ({ leaseMs, limit, hosted, foreignShops, token, maxAttempts }, now) => {
    const opaqueLimit = opaque(limit, 'int');
    return sql`WITH hosted AS ${hostedOf(hosted)}, due AS (
    SELECT id FROM (SELECT head.*,
      row_number() OVER (PARTITION BY hosted.consumer ORDER BY head.due_at, head.seq) AS turn,
      row_number() OVER (PARTITION BY hosted.consumer, head.intent_id ORDER BY head.seq) AS place
    FROM hosted CROSS JOIN LATERAL (
      SELECT locked.id, locked.intent_id, next.due_at, next.seq FROM (
        SELECT n.id, n.due_at, n.seq FROM payment_acceptance.delivery n
        WHERE n.consumer = hosted.consumer AND n.event_name = hosted.event_name AND ${isPending('n.state')}
          AND NOT n.behind AND n.due_at <= ${now} ORDER BY n.due_at, n.seq ${IN_ORDER}) next
      CROSS JOIN LATERAL (
        SELECT d.id, d.intent_id FROM payment_acceptance.delivery d WHERE d.id = next.id AND ${isPending('d.state')}
          AND ${namesItsShop('hosted')} AND d.due_at <= ${now}
          AND (${foreignShops}::text = '[]' OR NOT ${foreignShops}::jsonb @> ${DELIVERY_SHOP})
          AND (d.lease_until IS NULL OR d.lease_until < ${now} AND d.attempts < ${attemptLimitOf('d', sql`${maxAttempts}::int`)})
          AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery other WHERE ${isPending('other.state')}
            AND other.intent_id = d.intent_id AND other.consumer = d.consumer AND other.id <> d.id
            AND (other.lease_until >= ${now} OR other.seq < d.seq AND ${holdsBack('other', now)}) ${ROW_BY_ROW})
        FOR UPDATE SKIP LOCKED) locked
      LIMIT ${opaqueLimit}) head) heads
    WHERE place = 1 ORDER BY turn, due_at, seq LIMIT ${opaqueLimit}
  ), claimed AS (
  UPDATE payment_acceptance.delivery d
  SET attempts = attempts + 1, lease_token = ${token}::uuid, lease_until = ${addMilliseconds(now, leaseMs)}
  FROM due, payment_acceptance.event e, payment_acceptance.bill b
  WHERE d.id = due.id AND e.id = d.event_id AND b.intent_id = d.intent_id
  RETURNING d.id::text AS id, d.event_id::text AS "eventId", d.lease_token AS token, d.intent_id AS "intentId", d.consumer, d.event_name AS "eventName",
    e.shop, d.attempts AS attempt, d.replays > 0 AS "isReplay", d.last_error_code IS NOT DISTINCT FROM '${rawSql(ORDER_NOT_FOUND)}' AS "orderWasMissing", e.payload::text AS payload, e.traceparent, ${postgres.epochMs('e.asserted_at')} AS "assertedAt", b.state AS "billState",
    ${IS_LATE} AS late
  )
  SELECT claimed.*, floor(extract(epoch FROM soon.next - ${now}) * 1000)::bigint AS "nextMs" FROM (
    SELECT min(soon.at) AS next FROM hosted CROSS JOIN LATERAL (
      SELECT greatest(d.due_at, d.lease_until) AS at FROM payment_acceptance.delivery d
      WHERE d.consumer = hosted.consumer AND d.event_name = hosted.event_name AND ${isPending('d.state')}
        AND NOT d.behind AND ${namesItsShop('hosted')}
      ORDER BY d.due_at, d.seq LIMIT ${IN_SIGHT}) soon WHERE soon.at > ${now}) soon
  LEFT JOIN claimed ON true`;
  },
);

/**
 * Locks in the order of ids, as does every statement that locks several rows. In the look-ups by queue, the value of
 * `behind` is hidden from the planner: if the table was analysed while nothing was pending, the index of `behind` looks
 * empty, and each look-up would read all of it.
 */
const FREE_DELIVERIES = prepare(
  ['queues', 'hosted'],
  ({ queues, hosted }, now) =>
    sql`WITH hosted AS ${hostedOf(hosted)}, queue AS (
    SELECT DISTINCT intent_id, consumer FROM ${rowsFromJson(queues, 'intent_id uuid, consumer text')} given
  ), next AS (
    SELECT d.id FROM queue CROSS JOIN LATERAL (
      SELECT n.id FROM payment_acceptance.delivery n WHERE n.intent_id = queue.intent_id AND n.consumer = queue.consumer
        AND n.behind = (SELECT true) AND ${isPending('n.state')} ORDER BY n.seq LIMIT 1) first
    JOIN payment_acceptance.delivery d ON d.id = first.id
    WHERE d.behind = (SELECT true) AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery other WHERE ${isPending('other.state')}
      AND other.intent_id = d.intent_id AND other.consumer = d.consumer AND other.seq < d.seq
      AND ${holdsBack('other', now)} ${ROW_BY_ROW})
    ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
  )
  UPDATE payment_acceptance.delivery d SET behind = false FROM next WHERE d.id = next.id`,
);

/** PostgreSQL 17 and newer can also limit the whole transaction, which the handler's time limit does here. */
const endedAfter = (unattendedMs: Statement): Statement =>
  sql`set_config('idle_in_transaction_session_timeout', ${unattendedMs}::text, true),
    CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', '0', true) END`;

/** Locking a row also gives the transaction an id. */
const LOCK_DELIVERY = prepare(
  ['id', 'token', 'unattendedMs'],
  ({ id, token, unattendedMs }, now) =>
    sql`SELECT txid_current()::text AS transaction, ${endedAfter(unattendedMs)}, ${IS_LATE} AS late,
    EXISTS (SELECT 1 FROM payment_acceptance.delivery rival WHERE ${isPending('rival.state')}
      AND rival.intent_id = d.intent_id AND rival.consumer = d.consumer AND rival.lease_until >= ${now}
      AND (rival.lease_until, rival.id) < (d.lease_until, d.id)) AS rivalled
  FROM payment_acceptance.delivery d
  WHERE d.id = ${id}::bigint AND d.lease_token = ${token}::uuid AND ${isPending('d.state')} FOR UPDATE OF d`,
);

const complete = (now: Statement, id: Statement, token: Statement, isOwn: Statement): Statement =>
  sql`UPDATE payment_acceptance.delivery d SET state = 'DONE', ended_at = ${now}, lease_token = NULL,
    lease_until = NULL, last_error = NULL
  WHERE d.id = ${id}::bigint AND d.lease_token = ${token}::uuid AND ${isPending('d.state')} AND ${isOwn}
  RETURNING EXISTS (SELECT 1 FROM payment_acceptance.delivery next WHERE ${isPending('next.state')}
    AND next.intent_id = d.intent_id AND next.consumer = d.consumer AND next.seq > d.seq) AS "isFollowed"`;

const COMPLETE_DELIVERY = prepare(['id', 'token'], ({ id, token }, now) => complete(now, id, token, sql`TRUE`));

const COMPLETE_LOCKED = prepare(['id', 'token', 'transaction'], ({ id, token, transaction }, now) =>
  complete(now, id, token, sql`txid_current() = ${transaction}::bigint`),
);

const COMPLETED_READERS: ColumnReaders<CompletedDelivery> = { isFollowed: flag };

export class PostgresDeliveryStore extends DeliveryStore<PostgresDatabase> {
  override async register(consumers: readonly HostedConsumer[]): Promise<void> {
    const hosted = hostedOf(sql`${consumersJson(consumers)}`);
    await this.database.change`INSERT INTO payment_acceptance.consumer (name, event_name, shops, last_seen_at)
      SELECT consumer, event_name, CASE WHEN shops IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(shops)) END,
        ${this.database.now()} FROM ${hosted} hosted ORDER BY 1, 2
      ON CONFLICT (name, event_name) DO UPDATE SET last_seen_at = excluded.last_seen_at,
        shops = CASE WHEN consumer.shops IS NOT NULL AND excluded.shops IS NOT NULL
          THEN ARRAY(SELECT DISTINCT shop FROM unnest(consumer.shops || excluded.shops) AS shop ORDER BY 1) END`;
  }

  protected override registeredConsumers(): Promise<HostedConsumer[]> {
    return this.database.rows<HostedConsumer>({ shops: json })`
      SELECT name, event_name AS event, to_jsonb(shops)::text AS shops FROM payment_acceptance.consumer ORDER BY 1, 2`;
  }

  override async claim({ hosted, foreignShops, ...claim }: DeliveryClaim): Promise<ClaimedDeliveries> {
    const parameters = {
      ...claim,
      hosted: consumersJson(hosted),
      foreignShops: JSON.stringify(foreignShops),
    };
    const rows = await this.database.executeAtReadCommitted(CLAIM_DELIVERIES, parameters, CLAIM_ROW_READERS);
    const claimed = rows.filter((row): row is ClaimRow & ClaimedRow => row.id !== null);
    return { deliveries: claimed.map(withDeliveryId), nextMs: rows[0]?.nextMs ?? null };
  }

  override async free(
    queues: readonly DeliveryQueue[],
    hosted: readonly HostedConsumer[],
    tx?: OwnTransaction,
  ): Promise<void> {
    const rows = JSON.stringify(queues.map(({ intentId, consumer }) => ({ intent_id: intentId, consumer })));
    const parameters = { queues: rows, hosted: consumersJson(hosted) };
    if (tx) await this.database.execute(FREE_DELIVERIES, parameters, {}, tx);
    else await this.database.executeAtReadCommitted(FREE_DELIVERIES, parameters, {});
  }

  override queuesBehind(after: DeliveryQueue | null, limit: number): Promise<DeliveryQueue[]> {
    const afterCursor =
      after === null ? sql`TRUE` : sql`(intent_id, consumer) > (${after.intentId}::uuid, ${after.consumer})`;
    return this.database.rows<DeliveryQueue>({})`
      SELECT intent_id AS "intentId", consumer FROM payment_acceptance.delivery
      WHERE behind AND ${isPending('state')} AND ${afterCursor} ORDER BY intent_id, consumer LIMIT ${limit}`;
  }

  override async deadLetterExhausted(
    hosted: readonly HostedConsumer[],
    maxAttempts: number,
  ): Promise<Pick<ClaimedDelivery, 'deliveryId' | 'consumer'>[]> {
    const isExhausted = (d: Expression): Statement =>
      sql`${toSql(d)}.attempts >= ${attemptLimitOf(d, sql`${maxAttempts}`)} AND ${toSql(d)}.lease_until < ${this.database.now()}`;
    const dead = await this.database.rows<{ eventId: string; consumer: string }>({})`
      UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = ${this.database.now()}, lease_token = NULL,
        lease_until = NULL, last_error = coalesce(last_error, 'The process ended during the last attempt.')
      WHERE id IN (SELECT d.id FROM payment_acceptance.delivery d WHERE d.id = ANY(ARRAY(
          SELECT next.id FROM ${hostedOf(sql`${consumersJson(hosted)}`)} hosted CROSS JOIN LATERAL (
            SELECT n.id, n.attempts, n.last_error_code, n.lease_until FROM payment_acceptance.delivery n
            WHERE n.consumer = hosted.consumer AND n.event_name = hosted.event_name AND ${isPending('n.state')}
              AND NOT n.behind AND n.due_at <= ${this.database.now()} AND n.attempts > 0 ORDER BY n.due_at, n.seq LIMIT ${EXHAUSTED_SCAN_LIMIT}) next
          WHERE ${isExhausted('next')} LIMIT 100))
        AND ${isPending('d.state')} AND ${isExhausted('d')} ORDER BY d.id FOR UPDATE SKIP LOCKED)
      RETURNING event_id::text AS "eventId", consumer`;
    return dead.map(withDeliveryId);
  }

  override async lock(
    within: EnclosingTransaction,
    delivery: ClaimedDelivery,
    unattendedMs: number,
  ): Promise<DeliveryLock | undefined> {
    const reading: ColumnReaders<DeliveryLock & { rivalled: boolean }> = { late: flag, rivalled: flag };
    const parameters = { ...delivery, unattendedMs: String(idleTimeout(unattendedMs)) };
    const [row] = await this.database.execute(LOCK_DELIVERY, parameters, reading, within);
    if (row?.rivalled) throw new Error('Another delivery of the same bill to the same consumer is under way.');
    return row;
  }

  override async completeLocked(
    within: EnclosingTransaction,
    delivery: ClaimedDelivery,
    { transaction }: DeliveryLock,
  ): Promise<CompletedDelivery> {
    const parameters = { ...delivery, transaction };
    const marking = this.database.execute(COMPLETE_LOCKED, parameters, COMPLETED_READERS, within);
    const [completed] = await marking.catch((error: unknown) => {
      throw isInFailedTransaction(error) ? new Error(STATEMENT_FAILED, { cause: error }) : error;
    });
    if (!completed) throw new HandlerTransactionEndedError();
    return completed;
  }

  override async complete(delivery: ClaimedDelivery): Promise<CompletedDelivery | undefined> {
    const [completed] = await this.database.execute(COMPLETE_DELIVERY, delivery, COMPLETED_READERS);
    return completed;
  }
}
