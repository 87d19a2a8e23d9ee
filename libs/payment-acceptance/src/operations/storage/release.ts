import { databaseText } from '../../common/text.js';
import type { ReleaseFilter } from '../records/release.js';
import { ORDER_NOT_FOUND } from '../../events/storage/delivery.store.js';
import { ofScope } from '../../database/scope.js';
import type { ShopScope } from '../../domain/shop-scope.js';
import { sql, type Statement } from '../../database/statement.js';

/** FROM and WHERE for the deliveries `d` whose handler found no order, of bills `b` that a condition selects. */
export function orderlessOf(bills: Statement): Statement {
  return sql`FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.id = d.bill_id
  WHERE d.state = 'PENDING' AND d.last_error_code = ${ORDER_NOT_FOUND} AND ${bills}`;
}

/** Whether a bill `b` matches the filter and the scope. */
export function isReleased({ shop, orderId }: ReleaseFilter, scope: ShopScope): Statement {
  const ofShop = shop === undefined ? sql`TRUE` : sql`b.shop = ${databaseText(shop)}`;
  const ofOrder = orderId === undefined ? sql`TRUE` : sql`b.order_id = ${databaseText(orderId)}`;
  return sql`${ofShop} AND ${ofOrder} AND ${ofScope('b.shop', scope)}`;
}
