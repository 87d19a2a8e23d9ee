import { databaseText } from '../../common/text.js';
import type { DeadLetterFilter } from '../records/dead-letter.js';
import { ofScope } from '../../database/scope.js';
import type { ShopScope } from '../../domain/shop-scope.js';
import { join, toSql, sql, type Expression, type Statement } from '../../database/statement.js';

/** FROM and WHERE for the dead letters `d` of bills `b` that match the filter and the scope. */
export function deadLettersOf(filter: DeadLetterFilter, scope: ShopScope): Statement {
  const { deliveryId, consumer, event, shop, orderId } = filter;
  const has = (column: Expression, value: string | undefined) =>
    value === undefined ? [] : [sql`${toSql(column)} = ${databaseText(value)}`];
  const conditions = [
    sql`d.state = 'DEAD'`,
    ...has('d.id', deliveryId),
    ...has('d.consumer', consumer),
    ...has('d.event_name', event),
    ...has('b.shop', shop),
    ...has('b.order_id', orderId),
    ofScope('b.shop', scope),
  ];
  return sql`FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.id = d.bill_id
  WHERE ${join(conditions, ' AND ')}`;
}
