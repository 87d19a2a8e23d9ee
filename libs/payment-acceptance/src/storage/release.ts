import { databaseText } from '../common/text.js';
import type { ReleaseFilter } from '../domain/records/release.js';
import { ofScope, type ShopScope } from './scope.js';
import { sql, type Statement } from './statement.js';

/** The `last_error_code` of a delivery whose handler found no order. */
export const ORDER_NOT_FOUND = 'order-not-found';

/** Whether a bill `b` matches the filter and the scope. */
export function isReleased({ shop, orderId }: ReleaseFilter, scope: ShopScope): Statement {
  const ofShop = shop === undefined ? sql`TRUE` : sql`b.shop = ${databaseText(shop)}`;
  const ofOrder = orderId === undefined ? sql`TRUE` : sql`b.order_id = ${databaseText(orderId)}`;
  return sql`${ofShop} AND ${ofOrder} AND ${ofScope('b.shop', scope)}`;
}
