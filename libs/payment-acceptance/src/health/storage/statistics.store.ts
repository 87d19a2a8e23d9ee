import { Injectable } from '@nestjs/common';
import type { FailingConsumer, FailingShop, PaymentStats, ShopState } from '../statistics.js';
import { Database } from '../../database/database.js';
import { ORDER_NOT_FOUND } from '../../events/storage/delivery.store.js';
import { isFreeAt } from '../../settlement/storage/check.store.js';
import { IS_LOST } from '../../settlement/storage/lost-bills.js';
import { integer } from '../../database/reading.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import { COUNT_LIMIT, limitedCount, countWhere, rawSql, sql } from '../../database/statement.js';

/** The oldest delivery that waits for a consumer, of those whose latest error has this code; `null` for no error. */
export interface OldestDelivery {
  readonly consumer: string;
  readonly code: string | null;
  /** Place of its event in the order of all events. */
  readonly seq: string;
}

/** Whether the checks of a bill keep failing; on PostgreSQL, the index `bill_failing` has the same condition. */
const KEEPS_FAILING = rawSql('failed_checks >= 5');

/** Counts and ages of pending work. Reads a limited number of rows, however much waits. */
@Injectable()
export class StatisticsStore {
  constructor(private readonly database: Database) {}

  private oldest(): Promise<OldestDelivery[]> {
    return this.database.rows<OldestDelivery>({})`${OLDEST_DELIVERIES[this.database.source.type]}`;
  }

  async refusedShops(limit: number): Promise<string[]> {
    const rows = await this.database.rows<{ shop: string }>({})`
      SELECT shop FROM payment_acceptance.shop_state WHERE refused_since IS NOT NULL ORDER BY shop LIMIT ${limit}`;
    return rows.map(({ shop }) => shop);
  }

  async stats(scope: ShopScope): Promise<PaymentStats> {
    const { dialect } = this.database;
    const shop = ofScope('shop', scope);
    const ofShop =
      scope === null
        ? ofScope('shop', null)
        : sql`EXISTS (SELECT 1 FROM payment_acceptance.event e
           WHERE e.id = d.event_id AND e.shop = ${scope})`;
    const deliveries = sql`payment_acceptance.delivery d`;
    const [read] = await this.database.rows<Omit<PaymentStats, 'oldestDeliveryMs'> & { oldestHintMs: number | null }>({
      unknownBills: integer,
      lostBills: integer,
      openReviews: integer,
      unknownStatuses: integer,
      deadLetters: integer,
      pendingDeliveries: integer,
      oldestCheckMs: integer,
      oldestHintMs: integer,
      waitingCallbacks: integer,
    })`
      SELECT
      ${limitedCount(sql`payment_acceptance.bill WHERE state = 'UNKNOWN' AND ${shop}`)} AS "unknownBills",
      ${limitedCount(sql`payment_acceptance.lost_bill l WHERE ${IS_LOST} AND ${ofScope('l.shop', scope)}`)} AS "lostBills",
      ${limitedCount(sql`payment_acceptance.review WHERE state = 'OPEN' AND ${shop}`)} AS "openReviews",
      (SELECT count(*) FROM (SELECT reason FROM payment_acceptance.review WHERE state = 'OPEN' AND ${shop}
       LIMIT ${COUNT_LIMIT}) waiting WHERE reason = 'unknown-status') AS "unknownStatuses",
      ${limitedCount(sql`${deliveries} WHERE state = 'DEAD' AND ${ofShop}`)} AS "deadLetters",
      ${limitedCount(sql`${deliveries} WHERE state = 'PENDING' AND ${ofShop}`)} AS "pendingDeliveries",
      (SELECT ${dialect.msBetween('min(next_check_at)', this.database.now())} FROM payment_acceptance.bill
       WHERE next_check_at <= ${this.database.now()} AND ${shop}) AS "oldestCheckMs",
      (SELECT ${dialect.msBetween('min(first)', this.database.now())} FROM (SELECT (SELECT c.due_at FROM payment_acceptance.callback c
         JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
           AND (${isFreeAt(this.database.now())} OR b.bill_id IS NOT NULL AND b.${KEEPS_FAILING})
         WHERE c.pending AND c.intent_id IS NOT NULL AND c.due_at <= ${this.database.now()} AND c.shop = s.shop
         ORDER BY c.due_at LIMIT 1) AS first
       FROM payment_acceptance.shop_state s WHERE ${ofScope('s.shop', scope)}) due) AS "oldestHintMs",
      ${limitedCount(sql`payment_acceptance.callback c WHERE c.pending AND c.intent_id IS NULL
       AND ${ofScope('c.shop', scope)}`)} AS "waitingCallbacks"`;
    if (!read) throw new Error('The counts of the payment tables could not be read.');
    // A callback requests a check, no matter when the next scheduled one is due.
    const { oldestHintMs, ...counts } = read;
    const overdue = [counts.oldestCheckMs, oldestHintMs].filter((ms) => ms !== null);
    const oldestCheckMs = overdue.length > 0 ? Math.max(...overdue) : null;
    const oldestDeliveryMs = counts.pendingDeliveries === 0 ? null : await this.oldestDeliveryMs(scope);
    return { ...counts, oldestCheckMs, oldestDeliveryMs };
  }

  private async oldestDeliveryMs(scope: ShopScope): Promise<number | null> {
    if (scope === null) {
      const ages = await this.ages(await this.oldest());
      return ages.size > 0 ? Math.max(...ages.values()) : null;
    }
    const [row] = await this.database.rows<{ ms: number | null }>({ ms: integer })`
      SELECT ${this.database.dialect.msBetween('min(e.occurred_at)', this.database.now())} AS ms FROM payment_acceptance.delivery d
      JOIN payment_acceptance.event e ON e.id = d.event_id
      WHERE d.state = 'PENDING' AND ${ofScope('e.shop', scope)}`;
    return row?.ms ?? null;
  }

  /** Ages of the deliveries' events in milliseconds, by `seq`. */
  private async ages(deliveries: readonly OldestDelivery[]): Promise<Map<string, number>> {
    if (deliveries.length === 0) return new Map();
    const { dialect } = this.database;
    const seqs = deliveries.map(({ seq }) => seq);
    const rows = await this.database.rows<{ seq: string; ms: number }>({ ms: integer })`
      SELECT ${dialect.text('e.seq')} AS seq, ${dialect.msBetween('e.occurred_at', this.database.now())} AS ms
      FROM payment_acceptance.event e WHERE e.seq ${dialect.oneOf(seqs, 'bigint')}`;
    return new Map(rows.map(({ seq, ms }) => [seq, ms]));
  }

  /** The consumer with the oldest event comes first. */
  async failingConsumers(limit: number): Promise<FailingConsumer[]> {
    const failing = (await this.oldest()).filter(({ code }) => code !== null);
    if (failing.length === 0) return [];
    const ages = await this.ages(failing);
    const counts = await this.database.rows<Pick<FailingConsumer, 'consumer' | 'deliveries' | 'ordersNotFound'>>({
      deliveries: integer,
      ordersNotFound: integer,
    })`
      SELECT consumer, count(*) AS deliveries, ${countWhere(sql`last_error_code = ${ORDER_NOT_FOUND}`)} AS "ordersNotFound"
      FROM (SELECT consumer, last_error_code FROM payment_acceptance.delivery WHERE state = 'PENDING' AND last_error_code IS NOT NULL
        LIMIT ${COUNT_LIMIT}) failing GROUP BY consumer`;
    const oldestFirst = failing
      .map(({ consumer, code, seq }) => ({ consumer, reason: String(code), oldestMs: ages.get(seq) ?? 0 }))
      .sort((a, b) => b.oldestMs - a.oldestMs);
    const byConsumer = new Map<string, FailingConsumer>();
    for (const { consumer, reason, oldestMs } of oldestFirst) {
      if (byConsumer.has(consumer)) continue;
      const { deliveries, ordersNotFound } = counts.find((each) => each.consumer === consumer) ?? {
        deliveries: 1,
        ordersNotFound: reason === ORDER_NOT_FOUND ? 1 : 0,
      };
      byConsumer.set(consumer, { consumer, deliveries, ordersNotFound, oldestMs, reason });
    }
    return [...byConsumer.values()].slice(0, limit);
  }

  failingShops(limit: number): Promise<FailingShop[]> {
    return this.database.rows<FailingShop>({ bills: integer })`
      SELECT shop, count(*) AS bills FROM (SELECT shop FROM payment_acceptance.bill
        WHERE ${KEEPS_FAILING} AND next_check_at IS NOT NULL LIMIT ${COUNT_LIMIT}) failing
      GROUP BY shop ORDER BY bills DESC, shop LIMIT ${limit}`;
  }

  shops(scope: ShopScope): Promise<ShopState[]> {
    return this.database.rows<ShopState>({})`
      SELECT shop, ${this.database.dialect.iso('refused_since')} AS "refusedSince", refused_reason AS "refusedReason"
      FROM payment_acceptance.shop_state WHERE ${ofScope('shop', scope)} ORDER BY shop`;
  }
}

const CONSUMERS = sql`(SELECT DISTINCT name FROM payment_acceptance.consumer) c`;

const WAITING = sql`payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.consumer = c.name`;

/** At least the oldest waiting and the oldest failing delivery of each consumer, perhaps the oldest of each error. */
const OLDEST_DELIVERIES = {
  /** Looks up each consumer in the indexes in turn. */
  postgres: sql`SELECT c.name AS consumer, oldest.code, oldest.seq::text AS seq FROM ${CONSUMERS} CROSS JOIN LATERAL (
    (SELECT d.last_error_code AS code, d.seq FROM ${WAITING} ORDER BY d.seq LIMIT 1)
    UNION ALL
    (SELECT d.last_error_code, d.seq FROM ${WAITING} AND d.last_error_code IS NOT NULL ORDER BY d.seq LIMIT 1)) oldest`,
  /** Groups by all columns of the index before `seq`, so MariaDB reads only the first row of each group. */
  mariadb: sql`SELECT consumer, last_error_code AS code, CAST(min(seq) AS CHAR) AS seq FROM payment_acceptance.delivery
    WHERE state = 'PENDING' GROUP BY state, last_error_code, consumer`,
};
