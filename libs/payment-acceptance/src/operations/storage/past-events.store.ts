import { Injectable } from '@nestjs/common';
import { READ_AT_ONCE } from '../../common/pieces.js';
import { databaseText } from '../../common/text.js';
import type { DeliveryQueue } from '../../events/storage/delivery.store.js';
import type { PastEventFilter } from '../records/past-events.js';
import { Database } from '../../database/database.js';
import { flag, integer } from '../../database/reading.js';
import { ofScope } from '../../database/scope.js';
import type { ShopScope } from '../../domain/shop-scope.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { join, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/** An event that a consumer takes but has no delivery of, and the queue that it would join. */
export interface PastEvent extends DeliveryQueue {
  readonly seq: string;
}

/** Events that a consumer takes but has no delivery of. */
@Injectable()
export class PastEventsStore {
  constructor(private readonly database: Database) {}

  /** Whether any instance has ever hosted the consumer. */
  async isRegistered(consumer: string): Promise<boolean> {
    const [row] = await this.database.rows<{ known: boolean }>(
      sql`SELECT EXISTS (SELECT 1 FROM payment_acceptance.consumer WHERE name = ${databaseText(consumer)}) AS known`,
      { known: flag },
    );
    return row?.known === true;
  }

  /** How many deliveries are missing now. */
  async count(filter: PastEventFilter, scope: ShopScope): Promise<number> {
    const [counted] = await this.database.rows<{ missing: number }>(
      sql`SELECT count(*) AS missing ${this.undelivered(filter, scope)}`.withTimeout(LONG_STATEMENT_TIMEOUT_MS),
      { missing: integer },
    );
    return counted?.missing ?? 0;
  }

  /** The events that are missing, the oldest first; of many the first of these. */
  missing(filter: PastEventFilter, scope: ShopScope, after?: PastEvent): Promise<PastEvent[]> {
    const { dialect } = this.database;
    // A few events are found by their bill or their time.
    const isSelective = filter.orderId !== undefined || filter.from !== undefined;
    const joined = isSelective ? sql`JOIN` : dialect.joinInOrder;
    return this.database.rows<PastEvent>(
      sql`SELECT ${dialect.text('e.seq')} AS seq, e.intent_id AS "intentId", c.name AS consumer
       ${this.undelivered(filter, scope, joined)} AND e.seq > ${after?.seq ?? '0'} ORDER BY e.seq LIMIT ${READ_AT_ONCE}`.withTimeout(
        LONG_STATEMENT_TIMEOUT_MS,
      ),
      {},
    );
  }

  /** Creates those of these deliveries that are still missing, `behind` until `DeliveryStore.free` clears them; their number. */
  async deliver(
    tx: OwnTransaction,
    filter: PastEventFilter,
    scope: ShopScope,
    events: readonly PastEvent[],
  ): Promise<number> {
    const { dialect, offsetMs } = this.database;
    const these = dialect.oneOf(
      events.map(({ seq }) => seq),
      'bigint',
    );
    const made = await this.database.rows(
      sql`INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, behind)
       SELECT e.id, e.name, e.seq, e.intent_id, c.name, 'PENDING', ${dialect.now(offsetMs)}, TRUE
       ${this.undelivered(filter, scope)} AND e.seq ${these} ORDER BY e.seq ${dialect.unlessThere('event_id')}
       RETURNING event_id`,
      {},
      tx,
    );
    return made.length;
  }

  /** FROM and WHERE for events `e` and consumers `c`. */
  private undelivered(
    { consumer, event, shop, orderId, from, to }: PastEventFilter,
    scope: ShopScope,
    joined = sql`JOIN`,
  ): Statement {
    const { dialect } = this.database;
    const at = (instant: Date): Statement => dialect.instant(instant.getTime());
    const conditions = [
      sql`c.name = ${databaseText(consumer)}`,
      sql`(c.shops IS NULL OR ${dialect.listHas('c.shops', 'e.shop')})`,
      ...(event === undefined ? [] : [sql`e.name = ${databaseText(event)}`]),
      ...(shop === undefined ? [] : [sql`e.shop = ${databaseText(shop)}`]),
      ...(orderId === undefined
        ? []
        : [
            sql`e.intent_id IN (SELECT b.intent_id FROM payment_acceptance.bill b WHERE b.order_id = ${databaseText(orderId)})`,
          ]),
      ...(from === undefined ? [] : [sql`e.occurred_at >= ${at(from)}`]),
      ...(to === undefined ? [] : [sql`e.occurred_at < ${at(to)}`]),
      ofScope('e.shop', scope),
      sql`NOT EXISTS (SELECT 1 FROM payment_acceptance.delivery d WHERE d.event_id = e.id AND d.consumer = c.name
        ${dialect.rowByRow})`,
    ];
    return sql`FROM payment_acceptance.event e ${joined} payment_acceptance.consumer c ON c.event_name = e.name
     WHERE ${join(conditions, ' AND ')}`;
  }
}
