import { flag } from '../../database/reading.js';
import { databaseText } from '../../common/text.js';
import type { BillState } from '../../domain/bill.js';
import { deliveryId } from '../../domain/event-id.js';
import type { DeliveryId, IntentId } from '../../domain/ids.js';
import type { Database, EnclosingTransaction } from '../../database/database.js';
import { limitedCount, rawSql, toSql, sql, type Expression, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export interface HostedConsumer {
  readonly name: string;
  readonly event: string;
  readonly shops: readonly string[] | null;
}

/** The deliveries of one bill to one consumer: one at a time, in settlement order. */
export interface DeliveryQueue {
  readonly intentId: IntentId;
  readonly consumer: string;
}

export interface DeliveryClaim {
  readonly hosted: readonly HostedConsumer[];
  /** Shops whose deliveries are left to other instances, whatever the consumer. */
  readonly foreignShops: readonly string[];
  readonly limit: number;
  readonly leaseMs: number;
  readonly token: string;
  /** A delivery whose last allowed attempt never ended is left to `deadLetterExhausted`. */
  readonly maxAttempts: number;
}

/** A delivery whose attempt has been counted and committed; it may run until its lease ends. */
export interface ClaimedDelivery extends DeliveryQueue {
  readonly id: string;
  readonly deliveryId: DeliveryId;
  readonly token: string;
  readonly eventName: string;
  readonly shop: string;
  readonly attempt: number;
  /** Whether an operator has replayed it, or created it for a past event. */
  readonly isReplay: boolean;
  /** Whether the latest attempt found no order: the delivery then gets more attempts, see {@link attemptLimitOf}. */
  readonly orderWasMissing: boolean;
  /** The event as JSON. */
  readonly payload: string;
  /** Whether a later event of the same bill has already reached the consumer. */
  readonly late: boolean;
  readonly billState: BillState;
  /** When the first callback that asserted an outcome came; `null` if none did. */
  readonly assertedAt: Date | null;
  readonly traceparent: string | null;
}

export interface ClaimedDeliveries {
  readonly deliveries: readonly ClaimedDelivery[];
  /** In how many milliseconds the next delivery that is not due yet may become due; `null` if none is in sight. */
  readonly nextMs: number | null;
}

export type ClaimedRow = Omit<ClaimedDelivery, 'deliveryId'> & { readonly eventId: string };

export function withDeliveryId<Row extends Pick<ClaimedRow, 'eventId' | 'consumer'>>(
  row: Row,
): Row & { readonly deliveryId: DeliveryId } {
  return { ...row, deliveryId: deliveryId(row.eventId, row.consumer) };
}

export interface DeliveryLock {
  /** Whether a later event of the bill has reached the consumer meanwhile. */
  readonly late: boolean;
  /** The transaction's id on PostgreSQL; empty on MariaDB, which uses a savepoint instead. */
  readonly transaction: string;
}

export interface CompletedDelivery {
  /** Whether a later one of its queue may wait behind it. */
  readonly isFollowed: boolean;
}

/**
 * After this many attempts, about 27 minutes with the default pauses, a delivery no longer holds back those after it: its
 * handler keeps failing, and the shop may be waiting for them.
 */
export const HOLDING_ATTEMPTS = 12;

/** How many of a consumer's due deliveries that were attempted are searched for those whose last attempt never ended. */
export const EXHAUSTED_SCAN_LIMIT = 20_000;

/** A consumer that no instance has hosted for this long no longer holds anything back, in milliseconds. */
export const CONSUMER_ABSENT_MS = 3_600_000;

/** The `last_error_code` of a delivery whose handler found no order. */
export const ORDER_NOT_FOUND = 'order-not-found';

export const MIN_ATTEMPTS_WITHOUT_ORDER = 60;

/** How many attempts a delivery `d` gets; `maxAttempts` applies to every failure other than a missing order. */
export function attemptLimitOf(d: Expression, maxAttempts: Statement): Statement {
  return sql`CASE WHEN ${toSql(d)}.last_error_code = '${rawSql(ORDER_NOT_FOUND)}'
    THEN greatest(${rawSql(String(MIN_ATTEMPTS_WITHOUT_ORDER))}, ${maxAttempts}) ELSE ${maxAttempts} END`;
}

export interface AbsentConsumer {
  readonly name: string;
  readonly event: string;
  readonly waiting: number;
}

/**
 * Whether a delivery is pending, phrased so that on PostgreSQL it fits only the index of queue heads. If the planner
 * believed the index of all pending rows to be small, it would read the whole of it for a few rows.
 */
export function isPending(state: Expression): Statement {
  return sql`${toSql(state)} NOT IN ('DONE', 'DEAD')`;
}

export abstract class DeliveryStore<D extends Database = Database> {
  constructor(protected readonly database: D) {}

  /**
   * Registers the consumers: from its commit on, every settlement of any instance creates their deliveries. Called
   * repeatedly while they are hosted, since a consumer that is no longer hosted must hold nothing back. The shops of a
   * consumer only grow: otherwise, during a rolling release, instances that name fewer shops would remove the others.
   */
  abstract register(consumers: readonly HostedConsumer[]): Promise<void>;

  /** The consumers that are registered with more shops than given here; `shops` are the missing ones. */
  async consumersMissingShops(consumers: readonly HostedConsumer[]): Promise<HostedConsumer[]> {
    const registered = await this.registeredConsumers();
    return consumers.flatMap(({ name, event, shops }) => {
      const other = registered.find((each) => each.name === name && each.event === event);
      if (!other || !shops) return [];
      const lacking = other.shops && other.shops.filter((shop) => !shops.includes(shop));
      return lacking?.length === 0 ? [] : { name, event, shops: lacking };
    });
  }

  protected abstract registeredConsumers(): Promise<HostedConsumer[]>;

  /**
   * Leases deliveries and counts the attempt, before the attempt starts. Only the head of a queue is eligible, and only
   * if no other delivery of the queue runs. Deliveries for shops that a consumer does not name here are left to
   * instances where it does.
   *
   * The column `behind` keeps the others out of the claim's index: it marks a delivery created while an earlier one of
   * its queue is pending, until {@link free} clears it. A claim never relies on the mark: previous releases do not set
   * it, and end deliveries without clearing it on the next.
   */
  abstract claim(claim: DeliveryClaim): Promise<ClaimedDeliveries>;

  /**
   * Clears `behind` on the next delivery of each of these queues, unless an earlier delivery holds it back. So that
   * none waits for ever, an earlier delivery stops doing so after {@link HOLDING_ATTEMPTS}, when no instance has hosted
   * its consumer for {@link CONSUMER_ABSENT_MS}, or when it has been due for that long and its consumer does not name
   * its shop here.
   *
   * Called after a commit that marked deliveries `behind`, and after a commit that ended a delivery, unless none
   * followed it when it was marked done. A delivery created between that mark and its commit is freed by the next
   * sweep.
   */
  abstract free(
    queues: readonly DeliveryQueue[],
    hosted: readonly HostedConsumer[],
    tx?: OwnTransaction,
  ): Promise<void>;

  /**
   * The next queues with deliveries that are `behind`, in the order of their keys.
   * @param after the last queue of the previous call
   */
  abstract queuesBehind(after: DeliveryQueue | null, limit: number): Promise<DeliveryQueue[]>;

  /**
   * Dead-letters deliveries to these consumers that have used up their attempts although the last one never ended, for
   * example because the handler killed its process. Looks at the {@link EXHAUSTED_SCAN_LIMIT} deliveries of each
   * consumer that have been due for longest: claims leave exhausted ones there.
   */
  abstract deadLetterExhausted(
    hosted: readonly HostedConsumer[],
    maxAttempts: number,
  ): Promise<Pick<ClaimedDelivery, 'deliveryId' | 'consumer'>[]>;

  /**
   * Locks the delivery at the start of its handler's transaction, so that nobody takes it over meanwhile. Returns
   * `undefined` if the attempt's token was replaced; throws if another delivery of the queue was claimed concurrently
   * and comes first.
   * @param unattendedMs after idling for this long, PostgreSQL ends the transaction
   */
  abstract lock(
    within: EnclosingTransaction,
    delivery: ClaimedDelivery,
    unattendedMs: number,
  ): Promise<DeliveryLock | undefined>;

  /**
   * Marks the locked delivery done, as the last statement of its handler's transaction: both commit together or not at all.
   * @throws HandlerTransactionEndedError if it is no longer the transaction of the lock, so that nothing is marked
   */
  abstract completeLocked(
    within: EnclosingTransaction,
    delivery: ClaimedDelivery,
    lock: DeliveryLock,
  ): Promise<CompletedDelivery>;

  async isDone({ id }: ClaimedDelivery): Promise<boolean> {
    const done = await this.database.rows({})`
      SELECT 1 FROM payment_acceptance.delivery WHERE id = ${id} AND state = 'DONE'`;
    return done.length > 0;
  }

  /** Returns `undefined` if the token was replaced. */
  abstract complete(delivery: ClaimedDelivery): Promise<CompletedDelivery | undefined>;

  /** Releases a claim whose attempt never began, without counting it. */
  async releaseLease(delivery: ClaimedDelivery): Promise<void> {
    await this.database.change`
      UPDATE payment_acceptance.delivery SET attempts = attempts - 1, lease_token = NULL, lease_until = NULL
      WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`;
  }

  /**
   * Releases a lease without counting the attempt, and retries after the pause; `false` if the token was replaced or the
   * delivery is done.
   * @param code why the attempt could not begin; stored unless an earlier attempt has failed
   */
  async releaseUncounted(delivery: ClaimedDelivery, error: string, code: string, pauseMs: number): Promise<boolean> {
    const changedRows = await this.database.change`
      UPDATE payment_acceptance.delivery SET last_error = ${error}, last_error_code = coalesce(last_error_code, ${code}),
        attempts = attempts - 1, lease_token = NULL, lease_until = NULL, due_at = ${this.database.now(pauseMs)}
      WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`;
    return changedRows === 1;
  }

  /**
   * Schedules a retry after the pause, or makes the delivery a dead letter if `pauseMs` is `null`; `false` if the token
   * was replaced or the delivery is done. Locks the bill: an erasure is then either over, so that the error is not
   * stored, or comes later and removes the error.
   * @param code the kind of the error, of low cardinality
   */
  fail(delivery: ClaimedDelivery, error: string, code: string, pauseMs: number | null): Promise<boolean> {
    const { dialect } = this.database;
    const outcome =
      pauseMs === null
        ? sql`state = 'DEAD', ended_at = ${this.database.now()}`
        : sql`state = 'PENDING', ended_at = NULL, due_at = ${this.database.now(pauseMs)}`;
    return this.database.transaction(async (tx) => {
      const [bill] = await tx.rows<{ redacted: boolean }>({ redacted: flag })`
        SELECT redacted_at IS NOT NULL AS redacted FROM payment_acceptance.bill WHERE intent_id = ${delivery.intentId} ${dialect.shareLockClause}`;
      const updated = await tx.change`
        UPDATE payment_acceptance.delivery SET last_error = ${bill?.redacted ? null : error},
          last_error_code = ${databaseText(code).slice(0, 255)}, lease_token = NULL, lease_until = NULL, ${outcome}
        WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`;
      return updated === 1;
    });
  }

  /** Consumers that no instance has hosted for {@link CONSUMER_ABSENT_MS}, with their pending deliveries. */
  async absentConsumers(): Promise<AbsentConsumer[]> {
    const absent = await this.database.rows<Omit<AbsentConsumer, 'waiting'>>({})`
      SELECT name, event_name AS event FROM payment_acceptance.consumer
      WHERE last_seen_at < ${this.database.now(-CONSUMER_ABSENT_MS)} ORDER BY 1, 2`;
    const consumers: AbsentConsumer[] = [];
    for (const { name, event } of absent) {
      const waiting = await this.database.count`
        SELECT ${limitedCount(sql`payment_acceptance.delivery WHERE state = 'PENDING' AND behind IN (FALSE, TRUE)
        AND consumer = ${name} AND event_name = ${event}`)} AS count`;
      consumers.push({ name, event, waiting });
    }
    return consumers;
  }
}
