import type { EntityManager } from 'typeorm';
import { databaseText } from '../common/text.js';
import type { BillState } from '../domain/bill.js';
import type { DeliveryId, IntentId } from '../domain/ids.js';
import type { Database } from './database.js';
import { rawSql, toSql, sql, type Expression, type Statement } from './statement.js';

/** A consumer of one event, hosted by this instance. */
export interface HostedConsumer {
  readonly name: string;
  readonly event: string;
  readonly shops: readonly string[] | null;
}

/** The deliveries of one bill to one consumer: they go one at a time, in the order of their settlement. */
export interface DeliveryQueue {
  readonly intentId: IntentId;
  readonly consumer: string;
}

/** What is claimed. */
export interface DeliveryClaim {
  readonly hosted: readonly HostedConsumer[];
  /** Shops whose deliveries are left to others, whatever their consumer. */
  readonly foreignShops: readonly string[];
  readonly limit: number;
  readonly leaseMs: number;
  readonly token: string;
  /** One whose last attempt never ended is left to `deadLetterExhausted`. */
  readonly maxAttempts: number;
}

/** A delivery whose attempt has been counted and committed; it may run until its lease ends. */
export interface ClaimedDelivery extends DeliveryQueue {
  readonly id: DeliveryId;
  readonly token: string;
  readonly eventName: string;
  readonly shop: string;
  /** This attempt's number: 1 for the first. */
  readonly attempt: number;
  /** The event as JSON. */
  readonly payload: string;
  /** Whether a later event of the same bill has reached the consumer before. */
  readonly late: boolean;
  /** Whether the consumer is known to have no other delivery of the bill. */
  readonly alone: boolean;
  /** State of the bill now. */
  readonly billState: BillState;
  /** When the first callback came whose assertion the event answers; `null` where none has asserted anything. */
  readonly assertedAt: Date | null;
  /** Where the trace of the settlement goes on. */
  readonly traceparent: string | null;
}

/**
 * With so many attempts, after about 27 minutes with the default pauses, a delivery holds those after it back no more: its
 * handler fails for long, and they may be what the shop waits for.
 */
export const HOLDING_ATTEMPTS = 12;

/** After which silence of all instances nobody waits for a consumer. */
export const ABSENT_MS = 3_600_000;

/** A consumer that nobody hosts, with the number of deliveries that wait for it. */
export interface AbsentConsumer {
  readonly name: string;
  readonly event: string;
  readonly waiting: number;
}

/**
 * That a delivery waits, in words that fit none of PostgreSQL's indexes but that of the first of each queue. Where it
 * believes the index of all that waits small, it would read all of it for one row or a few.
 */
export function isPending(state: Expression): Statement {
  return sql`${toSql(state)} NOT IN ('DONE', 'DEAD')`;
}

/**
 * Whether the bill is held: no event of it goes out before an operator releases it.
 * @param billId of what is looked at
 * @param end of the subquery, for the planner
 */
export function isHeld(billId: Expression, end: Statement = rawSql('')): Statement {
  return sql`EXISTS (SELECT 1 FROM payment_acceptance.held_bill h WHERE h.bill_id = ${toSql(billId)} ${end})`;
}

/** Consumers and their deliveries. */
export abstract class DeliveryStore {
  constructor(protected readonly database: Database) {}

  /**
   * Makes the consumers known: from its commit on, every settlement of any instance creates their deliveries. Called
   * again and again while they are hosted: what nobody hosts any more holds nothing back. The shops of a consumer only
   * grow: while a release is rolled out, instances that name fewer than others would otherwise take those away again.
   */
  abstract register(consumers: readonly HostedConsumer[]): Promise<void>;

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

  protected abstract known(): Promise<HostedConsumer[]>;

  /**
   * Counts an attempt and leases the delivery, before anything of it runs. Only the first of its queue is eligible, and none
   * while another one of the queue runs, or of a bill that is held. Those of shops that a consumer does not name here are left to instances where it
   * does.
   *
   * The column `behind` keeps the others out of the way: a delivery that is settled while an earlier one of its queue waits
   * is marked, and so is every one of a bill that is held, and no claim meets it before {@link free} has unmarked it. The mark is never what a claim relies on: previous
   * releases set none, and end deliveries without unmarking the next.
   */
  abstract claim(claim: DeliveryClaim): Promise<ClaimedDelivery[]>;

  /**
   * Unmarks the next delivery of each of these queues, or of all, unless its bill is held or an earlier one holds it back. None does that has
   * had {@link HOLDING_ATTEMPTS}, or that nobody has hosted for an hour, or that has been due for so long and is of a shop
   * that its consumer does not name here: it may wait for ever.
   *
   * Called when a delivery has ended, in a statement after the commit; and when some were marked, after that commit: of the
   * two that mark and end at the same moment, the later one sees what the other has done.
   */
  abstract free(
    queues: readonly DeliveryQueue[] | 'all',
    hosted: readonly HostedConsumer[],
    manager?: EntityManager,
  ): Promise<void>;

  /** In how many milliseconds the next delivery to one of these consumers may be due; `null` where none is in sight. */
  abstract nextDueMs(hosted: readonly HostedConsumer[]): Promise<number | null>;

  /** Deliveries whose every attempt was begun and none ended (a handler that kills its process) become dead letters. */
  abstract deadLetterExhausted(maxAttempts: number): Promise<{ id: string; consumer: string }[]>;

  /**
   * Marks the delivery done, at the start of the transaction that its handler then runs in: all of it commits, or nothing.
   * Only if the attempt's token still holds, and no other delivery of the bill was claimed at the same moment and a little
   * earlier; says whether a later event has reached the consumer meanwhile.
   */
  abstract completeWith(manager: EntityManager, delivery: ClaimedDelivery): Promise<{ late: boolean } | undefined>;

  /** Marks the delivery done; `false` if the token was replaced. */
  abstract complete(delivery: ClaimedDelivery): Promise<boolean>;

  /** Gives a claim back whose attempt never began: it does not count. */
  async release(delivery: ClaimedDelivery): Promise<void> {
    await this.database.change(
      sql`UPDATE payment_acceptance.delivery SET attempts = attempts - 1, lease_token = NULL, lease_until = NULL
       WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`,
    );
  }

  /** Gives a claim back for a while, whose attempt does not count; `false` if the token was replaced, or it is done. */
  async giveBack(delivery: ClaimedDelivery, error: string, pauseMs: number): Promise<boolean> {
    const given = await this.database.change(
      sql`UPDATE payment_acceptance.delivery SET last_error = ${error}, last_error_code = NULL, attempts = attempts - 1, lease_token = NULL,
         lease_until = NULL, due_at = ${this.now(pauseMs)}
       WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`,
    );
    return given === 1;
  }

  /**
   * Puts the delivery off, or, with no pause, makes it a dead letter; `false` if the token was replaced, or it is done.
   * @param code the kind of the error, in few values
   */
  async fail(delivery: ClaimedDelivery, error: string, code: string, pauseMs: number | null): Promise<boolean> {
    const outcome =
      pauseMs === null
        ? sql`state = 'DEAD', ended_at = ${this.now()}`
        : sql`state = 'PENDING', ended_at = NULL, due_at = ${this.now(pauseMs)}`;
    const failed = await this.database.change(
      sql`UPDATE payment_acceptance.delivery SET last_error = ${error}, last_error_code = ${databaseText(code).slice(0, 255)},
         lease_token = NULL, lease_until = NULL, ${outcome}
       WHERE id = ${delivery.id} AND lease_token = ${delivery.token} AND ${isPending('state')}`,
    );
    return failed === 1;
  }

  /** Consumers that no instance has hosted for {@link ABSENT_MS}, with what waits for them. */
  abstract absent(): Promise<AbsentConsumer[]>;

  /** The present moment, so many milliseconds later. */
  protected now(laterMs = 0): Statement {
    return this.database.dialect.now(this.database.offsetMs + laterMs);
  }
}
