import { Injectable } from '@nestjs/common';
import type { FailingConsumer, FailingShop, PaymentStats, ShopState } from '../statistics.js';
import { notAcceptedElsewhere } from '../../callbacks/storage/accepted-elsewhere.js';
import { Database } from '../../database/database.js';
import { isHeld, ORDER_NOT_FOUND } from '../../events/storage/delivery.store.js';
import { IS_LOST } from '../../settlement/storage/lost-bills.js';
import { integer } from '../../database/reading.js';
import { ofScope } from '../../database/scope.js';
import type { ShopScope } from '../../domain/shop-scope.js';
import { countWhere, rawSql, sql, type Statement } from '../../database/statement.js';

/** Whether a delivery has failed, or could not begin, and is tried again. */
function isFailing(delivery: Lowercase<string>): Statement {
  const each = rawSql(delivery);
  return sql`${each}.state = 'PENDING' AND ${each}.last_error_code IS NOT NULL`;
}

/** Counts and ages, for health, metrics and people. Read-only. */
@Injectable()
export class StatisticsStore {
  constructor(private readonly database: Database) {}

  async stats(scope: ShopScope): Promise<PaymentStats> {
    const { dialect } = this.database;
    const age = (instant: Lowercase<string>) => dialect.msBetween(instant, this.now());
    const ofShop =
      scope === null
        ? ofScope('shop', null)
        : sql`EXISTS (SELECT 1 FROM payment_acceptance.event e
           WHERE e.id = d.event_id AND e.shop = ${scope})`;
    const [stats] = await this.database.rows<PaymentStats>(
      sql`SELECT
         (SELECT count(*) FROM payment_acceptance.bill WHERE state = 'UNKNOWN' AND ${ofScope('shop', scope)}) AS "unknownBills",
         (SELECT count(*) FROM payment_acceptance.lost_bill l WHERE ${IS_LOST} AND ${ofScope('l.shop', scope)}) AS "lostBills",
         (SELECT count(*) FROM payment_acceptance.review WHERE state = 'OPEN' AND ${ofScope('shop', scope)}) AS "openReviews",
         (SELECT count(*) FROM payment_acceptance.delivery d WHERE state = 'DEAD' AND ${ofShop}) AS "deadLetters",
         (SELECT count(*) FROM payment_acceptance.delivery d WHERE state = 'PENDING' AND ${ofShop}) AS "pendingDeliveries",
         (SELECT ${age('min(e.occurred_at)')} FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id
          WHERE d.state = 'PENDING' AND NOT ${isHeld('d.bill_id')} AND ${ofScope('e.shop', scope)}) AS "oldestDeliveryMs",
         (SELECT count(*) FROM payment_acceptance.held_bill h WHERE ${ofScope('h.shop', scope)}) AS "heldBills",
         (SELECT count(*) FROM payment_acceptance.held_bill h JOIN payment_acceptance.delivery d ON d.bill_id = h.bill_id
          WHERE d.state = 'PENDING' AND ${ofScope('h.shop', scope)}) AS "heldDeliveries",
         (SELECT ${age('min(next_check_at)')} FROM payment_acceptance.bill
          WHERE next_check_at <= ${this.now()} AND ${ofScope('shop', scope)}) AS "oldestCheckMs",
         (SELECT count(*) FROM payment_acceptance.callback c WHERE c.pending AND c.bill_id IS NULL
            AND ${notAcceptedElsewhere(dialect, 'c.corroboration')} AND ${ofScope('c.shop', scope)}) AS "waitingCallbacks"`,
      {
        unknownBills: integer,
        lostBills: integer,
        openReviews: integer,
        deadLetters: integer,
        pendingDeliveries: integer,
        heldBills: integer,
        heldDeliveries: integer,
        oldestDeliveryMs: integer,
        oldestCheckMs: integer,
        waitingCallbacks: integer,
      },
    );
    if (!stats) throw new Error('The counts of the payment tables could not be read.');
    return stats;
  }

  /** Consumers with failing deliveries, the one with the oldest event first; at most `limit`. */
  failingConsumers(limit: number): Promise<FailingConsumer[]> {
    const { dialect } = this.database;
    return this.database.rows<FailingConsumer>(
      sql`SELECT d.consumer, count(*) AS deliveries,
         ${countWhere(sql`d.last_error_code = ${ORDER_NOT_FOUND}`)} AS "ordersNotFound", ${dialect.msBetween('min(e.occurred_at)', this.now())} AS "oldestMs",
         (SELECT o.last_error_code FROM payment_acceptance.delivery o WHERE o.consumer = d.consumer AND ${isFailing('o')}
          ORDER BY o.seq LIMIT 1) AS reason
       FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
       WHERE ${isFailing('d')} GROUP BY d.consumer ORDER BY min(e.occurred_at) LIMIT ${limit}`,
      { deliveries: integer, oldestMs: integer, ordersNotFound: integer },
    );
  }

  /** Shops with bills whose checks keep failing, those with the most bills first; at most `limit`. */
  failingShops(limit: number): Promise<FailingShop[]> {
    return this.database.rows<FailingShop>(
      sql`SELECT shop, count(*) AS bills FROM payment_acceptance.bill WHERE failed_checks >= 5 AND next_check_at IS NOT NULL
       GROUP BY shop ORDER BY bills DESC, shop LIMIT ${limit}`,
      { bills: integer },
    );
  }

  shops(scope: ShopScope): Promise<ShopState[]> {
    return this.database.rows<ShopState>(
      sql`SELECT shop, ${this.database.dialect.iso('refused_since')} AS "refusedSince", refused_reason AS "refusedReason"
       FROM payment_acceptance.shop_state WHERE ${ofScope('shop', scope)} ORDER BY shop`,
      {},
    );
  }

  private now(): Statement {
    return this.database.dialect.now(this.database.offsetMs);
  }
}
