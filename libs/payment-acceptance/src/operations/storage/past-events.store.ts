import { Injectable } from '@nestjs/common';
import { READ_AT_ONCE } from '../../common/pieces.js';
import { databaseText } from '../../common/text.js';
import type { DeliveryQueue } from '../../events/storage/delivery.store.js';
import type { PastEventFilter } from '../records.js';
import { Database } from '../../database/database.js';
import { flag } from '../../database/reading.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import { REPORT_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { join, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/** An event without a delivery to a consumer that takes it, and the queue that the delivery would join. */
export interface PastEvent extends DeliveryQueue {
  readonly seq: string;
}

@Injectable()
export class PastEventsStore {
  constructor(private readonly database: Database) {}

  async isRegistered(consumer: string): Promise<boolean> {
    const [row] = await this.database.rows<{ known: boolean }>({ known: flag })`
      SELECT EXISTS (SELECT 1 FROM payment_acceptance.consumer WHERE name = ${databaseText(consumer)}) AS known`;
    return row?.known === true;
  }

  count(filter: PastEventFilter, scope: ShopScope): Promise<number> {
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).count`
      SELECT count(*) AS count FROM payment_acceptance.event e WHERE ${this.isMissing(filter, scope)}`;
  }

  /** Returns at most {@link READ_AT_ONCE} events, oldest first. */
  findMissing(filter: PastEventFilter, scope: ShopScope, after?: PastEvent): Promise<PastEvent[]> {
    const { dialect } = this.database;
    // The few events of one order are found by its bills, others page by page: the first page skips those before
    // `from`.
    const isSelective = filter.orderId !== undefined;
    const [hint, order] = isSelective ? [sql``, sql``] : [dialect.bySeq, sql`ORDER BY e.seq ${dialect.inOrder}`];
    const later = sql`(SELECT * FROM payment_acceptance.event e ${hint} WHERE e.seq > ${after?.seq ?? '0'} ${order}) e`;
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).rows<PastEvent>({})`
      SELECT ${dialect.text('e.seq')} AS seq, e.intent_id AS "intentId", ${this.name(filter)} AS consumer
      FROM ${later} WHERE ${this.isMissing(filter, scope)} ORDER BY e.seq LIMIT ${READ_AT_ONCE}`;
  }

  /**
   * Creates the deliveries that are still missing; returns how many. They are `behind` until `DeliveryStore.free`
   * clears them.
   */
  async deliver(
    tx: OwnTransaction,
    filter: PastEventFilter,
    scope: ShopScope,
    events: readonly PastEvent[],
  ): Promise<number> {
    const { dialect } = this.database;
    const these = dialect.oneOf(
      events.map(({ seq }) => seq),
      'bigint',
    );
    const inserted = await tx.rows({})`
      INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, replays, due_at, behind)
      SELECT e.id, e.name, e.seq, e.intent_id, ${this.name(filter)}, 'PENDING', 1, ${this.database.now()}, TRUE
      FROM payment_acceptance.event e WHERE ${this.isMissing(filter, scope)} AND e.seq ${these} ORDER BY e.seq ${dialect.ignoreExisting('event_id', 'consumer')}
      RETURNING event_id`;
    return inserted.length;
  }

  private name({ consumer }: PastEventFilter): Statement {
    return this.database.dialect.text(sql`${databaseText(consumer)}`);
  }

  /** Whether an event `e` fits the filter and the scope, and the consumer takes it but has no delivery of it. */
  private isMissing(filter: PastEventFilter, scope: ShopScope): Statement {
    const { event, shop, orderId, from, to } = filter;
    const { dialect } = this.database;
    const toInstant = (instant: Date): Statement => dialect.instant(instant.getTime());
    const consumer = this.name(filter);
    const conditions = [
      sql`(SELECT c.shops IS NULL OR ${dialect.listHas('c.shops', 'e.shop')} FROM payment_acceptance.consumer c
        WHERE c.name = ${consumer} AND c.event_name = e.name)`,
      ...(event === undefined ? [] : [sql`e.name = ${databaseText(event)}`]),
      ...(shop === undefined ? [] : [sql`e.shop = ${databaseText(shop)}`]),
      ...(orderId === undefined
        ? []
        : [
            // With the shops, since orders are found by shop.
            sql`e.intent_id IN (SELECT b.intent_id FROM payment_acceptance.shop_state s
              JOIN payment_acceptance.bill b ON b.shop = s.shop WHERE b.order_id = ${databaseText(orderId)})`,
          ]),
      ...(from === undefined ? [] : [sql`e.occurred_at >= ${toInstant(from)}`]),
      ...(to === undefined ? [] : [sql`e.occurred_at < ${toInstant(to)}`]),
      ofScope('e.shop', scope),
      sql`NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery d WHERE d.event_id = e.id AND d.consumer = ${consumer}
        ${dialect.rowByRow})`,
    ];
    return join(conditions, ' AND ');
  }
}
