import { describeError } from '../../../common/errors.js';
import {
  DeliveryStore,
  isPending,
  attemptLimitOf,
  ORDER_NOT_FOUND,
  withDeliveryId,
  CONSUMER_ABSENT_MS,
  EXHAUSTED_SCAN_LIMIT,
  type ClaimedDeliveries,
  type ClaimedDelivery,
  type CompletedDelivery,
  type ClaimedRow,
  type DeliveryLock,
  type DeliveryClaim,
  type DeliveryQueue,
  type HostedConsumer,
  HOLDING_ATTEMPTS,
} from '../delivery.store.js';
import { HandlerTransactionEndedError } from '../../../database/database.errors.js';
import { isMissingSavepoint } from '../../../database/query-errors.js';
import { flag, instant, integer } from '../../../database/reading.js';
import { join, rawSql, toSql, sql, type Expression, type Statement } from '../../../database/statement.js';
import { mariadb } from '../../../database/mariadb/dialect.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { EnclosingTransaction } from '../../../database/database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

/** Whether a later event of the same bill has already reached the consumer of a delivery `d`. */
const IS_LATE = sql`EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.intent_id = d.intent_id
  AND later.consumer = d.consumer AND later.seq > d.seq AND later.state = 'DONE') AS late`;

function isOfShops(shops: readonly string[], delivery: Expression): Statement {
  return sql`JSON_CONTAINS(${JSON.stringify(shops)},
    JSON_QUOTE((SELECT e.shop FROM payment_acceptance.event e WHERE e.id = ${toSql(delivery)}.event_id)))`;
}

/** The next deliveries `d` of each consumer and its shops. */
function nextOfEach(
  hosted: readonly HostedConsumer[],
  columns: Statement,
  condition: Statement,
  limit: number,
): Statement {
  const each = hosted.map(
    ({ name, event, shops }) =>
      sql`(SELECT ${columns} FROM payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.behind = 0
      AND d.consumer = ${name}
      AND d.event_name = ${event} AND ${shops === null ? sql`TRUE` : isOfShops(shops, 'd')}
      AND ${condition} ORDER BY d.due_at, d.seq LIMIT ${limit})`,
  );
  return join(each, ' UNION ALL ');
}

/** Whether an earlier delivery `other` of a queue holds back a later one `d` of it; see `DeliveryStore.free`. */
function holdsBack(hosted: readonly HostedConsumer[], d: Expression, longAgo: Statement): Statement {
  const unnamed = hosted.flatMap(({ name, event, shops }) =>
    shops === null ? [] : sql`other.consumer = ${name} AND other.event_name = ${event} AND NOT ${isOfShops(shops, d)}`,
  );
  return sql`other.attempts < ${HOLDING_ATTEMPTS} AND EXISTS (
    SELECT 1 FROM payment_acceptance.consumer c WHERE c.name = other.consumer AND c.event_name = other.event_name
      AND c.last_seen_at >= ${longAgo})
  AND ${unnamed.length === 0 ? sql`TRUE` : sql`(other.due_at >= ${longAgo} OR NOT (${join(unnamed, ' OR ')}))`}`;
}

/** How many of a consumer's next deliveries are read to find out when one is due. */
const IN_SIGHT = 20;

/** How many candidates are read per delivery to claim, since other instances may have locked some. */
const CANDIDATES = 3;

/**
 * MariaDB's UPDATE returns no rows, and looking for a later delivery would add a statement to each handler's
 * transaction.
 */
const COMPLETED_ASSUMED_FOLLOWED: CompletedDelivery = { isFollowed: true };

const HANDLER = rawSql('payment_acceptance_handler');

export class MariaDeliveryStore extends DeliveryStore<MariaDatabase> {
  override async register(consumers: readonly HostedConsumer[]): Promise<void> {
    if (consumers.length === 0) return;
    const inOrder = [...consumers].sort((a, b) => (a.name + a.event < b.name + b.event ? -1 : 1));
    const rows = inOrder.map(
      ({ name, event, shops }) => sql`(${name}, ${event}, ${shops && JSON.stringify(shops)}, ${this.database.now()})`,
    );
    await this.database.change`INSERT INTO payment_acceptance.consumer (name, event_name, shops, last_seen_at)
      VALUES ${join(rows, ', ')}
      ON DUPLICATE KEY UPDATE last_seen_at = VALUES(last_seen_at), shops = CASE
        WHEN JSON_CONTAINS(shops, VALUES(shops)) THEN shops ELSE JSON_MERGE_PRESERVE(shops, VALUES(shops)) END`;
  }

  protected override registeredConsumers(): Promise<HostedConsumer[]> {
    return this.database.rows<HostedConsumer>({
      shops: (value) => [...new Set(JSON.parse(String(value)) as string[])],
    })`
      SELECT name, event_name AS event, CAST(shops AS CHAR) AS shops FROM payment_acceptance.consumer ORDER BY 1, 2`;
  }

  /** Reads `nextMs` first, so that what becomes due in between is claimed rather than waited for. */
  override async claim(claim: DeliveryClaim): Promise<ClaimedDeliveries> {
    if (claim.hosted.length === 0) return { deliveries: [], nextMs: null };
    const nextMs = await this.nextMs(claim.hosted);
    return { deliveries: await this.claimDue(claim), nextMs };
  }

  private async claimDue(claim: DeliveryClaim): Promise<ClaimedDelivery[]> {
    const { hosted, foreignShops, limit, leaseMs, token, maxAttempts } = claim;
    const eligible = (alias: Expression): Statement => {
      const d = toSql(alias);
      const now = this.database.now();
      const isKnownShop = foreignShops.length === 0 ? sql`TRUE` : sql`NOT ${isOfShops(foreignShops, d)}`;
      return sql`${d}.due_at <= ${now} AND ${isKnownShop} AND (${d}.lease_until IS NULL OR ${d}.lease_until < ${now} AND ${d}.attempts < ${attemptLimitOf(d, sql`${maxAttempts}`)})
       AND NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery other WHERE other.state = 'PENDING'
         AND other.intent_id = ${d}.intent_id AND other.consumer = ${d}.consumer AND other.id <> ${d}.id
         AND (other.lease_until >= ${now} OR other.seq < ${d}.seq AND ${holdsBack(hosted, d, this.database.now(-CONSUMER_ABSENT_MS))}))`;
    };
    const maxCandidates = limit * CANDIDATES;
    const next = nextOfEach(hosted, sql`d.id, d.due_at, d.seq, d.consumer, d.intent_id`, eligible('d'), maxCandidates);
    const due = await this.database.ids`SELECT CAST(id AS CHAR) AS id FROM (SELECT id, due_at, seq,
        ROW_NUMBER() OVER (PARTITION BY consumer ORDER BY due_at, seq) AS turn,
        ROW_NUMBER() OVER (PARTITION BY consumer, intent_id ORDER BY seq) AS place FROM (${next}) due) heads
      WHERE place = 1 ORDER BY turn, due_at, seq LIMIT ${maxCandidates}`;
    if (due.length === 0) return [];
    return this.database.transaction(async (tx) => {
      const locked = await this.database.lockFree(tx, 'delivery', due, sql`t.state = 'PENDING' AND ${eligible('t')}`);
      const ids = locked.slice(0, limit);
      await tx.change`UPDATE payment_acceptance.delivery SET attempts = attempts + 1, lease_token = ${token},
        lease_until = ${this.database.now(leaseMs)} WHERE id ${mariadb.oneOf(ids, 'bigint')}`;
      return this.read(ids, tx);
    });
  }

  override async free(
    queues: readonly DeliveryQueue[],
    hosted: readonly HostedConsumer[],
    tx?: OwnTransaction,
  ): Promise<void> {
    if (queues.length === 0) return;
    const behind = sql`n.state = 'PENDING' AND n.behind = 1`;
    const queueKeys = join(
      queues.map(({ intentId, consumer }) => sql`(${intentId}, ${consumer})`),
      ', ',
    );
    const ids = await (tx ?? this.database).ids`SELECT CAST(d.id AS CHAR) AS id FROM (
        SELECT n.intent_id, n.consumer, MIN(n.seq) AS seq FROM payment_acceptance.delivery n WHERE ${behind} AND (n.intent_id, n.consumer) IN (${queueKeys})
        GROUP BY n.intent_id, n.consumer) first
      JOIN payment_acceptance.delivery d ON d.intent_id = first.intent_id AND d.consumer = first.consumer AND d.seq = first.seq
      WHERE NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery other
        WHERE other.state = 'PENDING' AND other.intent_id = d.intent_id AND other.consumer = d.consumer AND other.seq < d.seq
        AND ${holdsBack(hosted, 'd', this.database.now(-CONSUMER_ABSENT_MS))})`;
    if (ids.length === 0) return;
    const free = async (within: OwnTransaction): Promise<void> => {
      // A delivery that a handler has locked was freed and claimed meanwhile.
      const locked = await this.database.lockFree(within, 'delivery', ids, sql`t.state = 'PENDING' AND t.behind = 1`);
      if (locked.length === 0) return;
      await within.change`UPDATE payment_acceptance.delivery SET behind = 0 WHERE id ${mariadb.oneOf(locked, 'bigint')}`;
    };
    await (tx ? free(tx) : this.database.transaction(free));
  }

  override queuesBehind(after: DeliveryQueue | null, limit: number): Promise<DeliveryQueue[]> {
    const afterCursor =
      after === null
        ? sql`TRUE`
        : sql`(intent_id > ${after.intentId} OR intent_id = ${after.intentId} AND consumer > ${after.consumer})`;
    return this.database.rows<DeliveryQueue>({})`
      SELECT intent_id AS "intentId", consumer FROM payment_acceptance.delivery
      WHERE state = 'PENDING' AND behind = 1 AND ${afterCursor} ORDER BY intent_id, consumer LIMIT ${limit}`;
  }

  private async read(ids: readonly string[], tx: OwnTransaction): Promise<ClaimedDelivery[]> {
    const rows = await tx.rows<ClaimedRow>({
      attempt: integer,
      isReplay: flag,
      orderWasMissing: flag,
      assertedAt: instant,
      late: flag,
    })`
      SELECT CAST(d.id AS CHAR) AS id, CAST(d.event_id AS CHAR) AS "eventId", d.lease_token AS token, d.intent_id AS "intentId", d.consumer,
        d.event_name AS "eventName", e.shop,
        d.attempts AS attempt, d.replays > 0 AS "isReplay", d.last_error_code <=> ${ORDER_NOT_FOUND} AS "orderWasMissing", CAST(e.payload AS CHAR) AS payload, e.traceparent,
        ${mariadb.epochMs('e.asserted_at')} AS "assertedAt", b.state AS "billState", ${IS_LATE}
      FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
      JOIN payment_acceptance.bill b ON b.intent_id = d.intent_id WHERE d.id ${mariadb.oneOf(ids, 'bigint')}`;
    return rows.map(withDeliveryId);
  }

  private async nextMs(hosted: readonly HostedConsumer[]): Promise<number | null> {
    const claimableAt = sql`GREATEST(d.due_at, coalesce(d.lease_until, d.due_at)) AS at`;
    const [row] = await this.database.rows<{ next: number | null; now: number }>({ next: integer, now: integer })`
      SELECT ${mariadb.epochMs('next')} AS next, ${mariadb.epochMs(this.database.now())} AS now
      FROM (SELECT MIN(at) AS next FROM (${nextOfEach(hosted, claimableAt, sql`TRUE`, IN_SIGHT)}) soon WHERE at > ${this.database.now()}) soonest`;
    return row && row.next !== null ? row.next - row.now : null;
  }

  override async deadLetterExhausted(
    hosted: readonly HostedConsumer[],
    maxAttempts: number,
  ): Promise<Pick<ClaimedDelivery, 'deliveryId' | 'consumer'>[]> {
    if (hosted.length === 0) return [];
    const condition = sql`t.state = 'PENDING' AND t.attempts >= ${attemptLimitOf('t', sql`${maxAttempts}`)} AND t.lease_until < ${this.database.now()}`;
    const ofAllShops = hosted.map((each) => ({ ...each, shops: null }));
    const columns = sql`d.id, d.event_id, d.consumer, d.state, d.attempts, d.last_error_code, d.lease_until`;
    const isDue = sql`d.due_at <= ${this.database.now()} AND d.attempts > 0`;
    const due = nextOfEach(ofAllShops, columns, isDue, EXHAUSTED_SCAN_LIMIT);
    const candidates = await this.database.rows<{ id: string; eventId: string; consumer: string }>({})`
      SELECT CAST(t.id AS CHAR) AS id, CAST(t.event_id AS CHAR) AS "eventId", t.consumer
      FROM (${due}) t WHERE ${condition} LIMIT 100`;
    if (candidates.length === 0) return [];
    return this.database.transaction(async (tx) => {
      const ids = await this.database.lockFree(
        tx,
        'delivery',
        candidates.map(({ id }) => id),
        condition,
      );
      await tx.change`
        UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = ${this.database.now()}, lease_token = NULL,
          lease_until = NULL, last_error = coalesce(last_error, 'The process ended during the last attempt.')
        WHERE id ${mariadb.oneOf(ids, 'bigint')}`;
      return candidates.filter(({ id }) => ids.includes(id)).map(withDeliveryId);
    });
  }

  override async lock(within: EnclosingTransaction, delivery: ClaimedDelivery): Promise<DeliveryLock | undefined> {
    // The savepoint disappears when the transaction ends; MariaDB has nothing else that distinguishes two transactions of a
    // session.
    await within.change`SAVEPOINT ${HANDLER}`;
    const [lease] = await within.rows<{ until: string }>({})`
      SELECT CAST(lease_until AS CHAR) AS until FROM payment_acceptance.delivery
      WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND state = 'PENDING' FOR UPDATE`;
    if (!lease) return undefined;
    const [row] = await within.rows<{ late: boolean; rivalled: boolean }>({ late: flag, rivalled: flag })`
      SELECT ${IS_LATE}, EXISTS (SELECT 1 FROM payment_acceptance.delivery rival WHERE rival.state = 'PENDING'
          AND rival.intent_id = d.intent_id AND rival.consumer = d.consumer AND rival.lease_until >= ${this.database.now()}
          AND (rival.lease_until < ${lease.until} OR rival.lease_until = ${lease.until} AND rival.id < d.id)) AS rivalled
      FROM payment_acceptance.delivery d WHERE d.id = ${delivery.id}`;
    if (row?.rivalled) throw new Error('Another delivery of the same bill to the same consumer is under way.');
    return { late: row?.late === true, transaction: '' };
  }

  override async completeLocked(within: EnclosingTransaction, delivery: ClaimedDelivery): Promise<CompletedDelivery> {
    try {
      await within.change`RELEASE SAVEPOINT ${HANDLER}`;
    } catch (error) {
      // Other layers wrap the driver's error in their own. Writes that the handler has queued may also fail only now.
      const isMissing = isMissingSavepoint(error) || /SAVEPOINT \S+ does not exist/.test(describeError(error));
      throw isMissing ? new HandlerTransactionEndedError() : error;
    }
    const done = await within.change`UPDATE payment_acceptance.delivery SET ${this.done()}
      WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`;
    if (done !== 1) throw new HandlerTransactionEndedError();
    return COMPLETED_ASSUMED_FOLLOWED;
  }

  override async complete(delivery: ClaimedDelivery): Promise<CompletedDelivery | undefined> {
    const completed = await this.database.change`UPDATE payment_acceptance.delivery SET ${this.done()}
      WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`;
    return completed === 1 ? COMPLETED_ASSUMED_FOLLOWED : undefined;
  }

  private done(): Statement {
    return sql`state = 'DONE', ended_at = ${this.database.now()}, lease_token = NULL, lease_until = NULL, last_error = NULL`;
  }
}
