import { HOLDING_ATTEMPTS, type HostedConsumer } from '../delivery.store.js';
import { join, toSql, sql, type Expression, type Statement } from '../../../database/statement.js';

/** Whether a later event of the same bill has already reached the consumer of a delivery `d`. */
export const IS_LATE = sql`EXISTS (SELECT 1 FROM payment_acceptance.delivery later WHERE later.intent_id = d.intent_id
  AND later.consumer = d.consumer AND later.seq > d.seq AND later.state = 'DONE') AS late`;

/** Whether the shop of a delivery is one of these. */
export function isOfShops(shops: readonly string[], delivery: Expression): Statement {
  return sql`JSON_CONTAINS(${JSON.stringify(shops)},
    JSON_QUOTE((SELECT e.shop FROM payment_acceptance.event e WHERE e.id = ${toSql(delivery)}.event_id)))`;
}

/** The next deliveries `d` of each consumer and its shops. */
export function nextOfEach(
  hosted: readonly HostedConsumer[],
  columns: Statement,
  condition: Statement,
  limit: number,
): Statement {
  const each = hosted.map(
    ({ name, event, shops }) =>
      sql`(SELECT ${columns} FROM payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.behind = 0
      AND d.consumer = ${name}
      AND d.event_name = ${event} AND ${shops === null ? sql`TRUE` : isOfShops(shops, 'd')}
      AND ${condition} ORDER BY d.due_at, d.seq LIMIT ${limit})`,
  );
  return join(each, ' UNION ALL ');
}

/** Whether an earlier delivery `other` of a queue holds back a later one `d` of it; see `DeliveryStore.free`. */
export function holdsBack(hosted: readonly HostedConsumer[], d: Expression, longAgo: Statement): Statement {
  const unnamed = hosted.flatMap(({ name, event, shops }) =>
    shops === null ? [] : sql`other.consumer = ${name} AND other.event_name = ${event} AND NOT ${isOfShops(shops, d)}`,
  );
  return sql`other.attempts < ${HOLDING_ATTEMPTS} AND EXISTS (
    SELECT 1 FROM payment_acceptance.consumer c WHERE c.name = other.consumer AND c.event_name = other.event_name
      AND c.last_seen_at >= ${longAgo})
  AND ${unnamed.length === 0 ? sql`TRUE` : sql`(other.due_at >= ${longAgo} OR NOT (${join(unnamed, ' OR ')}))`}`;
}
