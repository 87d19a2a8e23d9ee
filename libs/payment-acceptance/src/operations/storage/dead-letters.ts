import { databaseText } from '../../common/text.js';
import type { DeadLetterFilter } from '../records.js';
import { ORDER_NOT_FOUND } from '../../events/storage/delivery.store.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import type { Dialect } from '../../database/dialect.js';
import { NAME_PREFIX } from '../../domain/uuid.js';
import { join, rawSql, toSql, sql, type Expression, type Statement } from '../../database/statement.js';

/**
 * FROM and WHERE for the dead letters `d`, with their bills `b`, to be read in the order of `seq` and `id`.
 * @param afterCursor a condition that excludes the previous pages
 */
export function deadLettersOf(
  dialect: Dialect,
  filter: DeadLetterFilter,
  scope: ShopScope,
  afterCursor = rawSql(''),
): Statement {
  return deliveriesOf(sql`d.state = 'DEAD' ${afterCursor}`, sql`d.seq, d.id`, dialect, filter, scope);
}

/**
 * The same for deliveries that wait for their next attempt because their handler found no order, in the order of
 * `consumer` and `seq`.
 */
export function orderlessOf(
  dialect: Dialect,
  filter: DeadLetterFilter,
  scope: ShopScope,
  afterCursor = rawSql(''),
): Statement {
  return deliveriesOf(sql`${isOrderless('d')} ${afterCursor}`, sql`d.consumer, d.seq`, dialect, filter, scope);
}

export function isOrderless(delivery: Lowercase<string>): Statement {
  const each = rawSql(delivery);
  return sql`${each}.state = 'PENDING' AND ${each}.last_error_code = ${ORDER_NOT_FOUND} AND ${each}.lease_token IS NULL`;
}

function deliveriesOf(
  which: Statement,
  order: Statement,
  dialect: Dialect,
  filter: DeadLetterFilter,
  scope: ShopScope,
): Statement {
  const { deliveryId, consumer, event, shop, orderId } = filter;
  const has = (column: Expression, value: string | undefined) =>
    value === undefined ? [] : [sql`${toSql(column)} = ${databaseText(value)}`];
  const conditions = [
    ofScope('b.shop', scope),
    ...(deliveryId === undefined ? [] : [isDelivery(dialect, 'd', deliveryId)]),
    ...has('d.consumer', consumer),
    ...has('d.event_name', event),
    ...has('b.shop', shop),
    ...has('b.order_id', orderId),
  ];
  // The deliveries of one order are found by its bills, all others page by page.
  const inOrder = orderId === undefined ? sql`ORDER BY ${order} ${dialect.inOrder}` : sql``;
  return sql`FROM (SELECT * FROM payment_acceptance.delivery d WHERE ${which} ${inOrder}) d
  JOIN payment_acceptance.bill b ON b.intent_id = d.intent_id WHERE ${join(conditions, ' AND ')}`;
}

/** A delivery's id is a hash of the name in `deliveryId()`, except for two digits that the UUID format sets. */
export function isDelivery({ sha256, text, concat }: Dialect, delivery: Lowercase<string>, id: string): Statement {
  const digits = id.replaceAll('-', '');
  const pattern = `${digits.slice(0, 12)}_${digits.slice(13, 16)}_${digits.slice(17)}%`;
  const each = rawSql(delivery);
  const name = [sql`${`${NAME_PREFIX}delivery:`}`, text(sql`${each}.event_id`), sql`${':'}`, sql`${each}.consumer`];
  return sql`${sha256(concat(name))} LIKE ${pattern}`;
}
