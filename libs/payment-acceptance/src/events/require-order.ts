import type { PaymentEvent } from '../domain/payment-events.js';
import { PaymentOrderNotFoundError } from './consumer.errors.js';

/**
 * Returns the order, or the result of its update, that a handler found for an event, and throws if there is none, so that a payment
 * whose order is missing never goes unnoticed:
 *
 * ```ts
 * const order = { id: event.orderId, amount: event.billedAmount, currency: event.currency };
 * requireOrder(event, await manager.update(Order, order, { status: 'paid' }));
 * ```
 *
 * It accepts
 * - an order, recognized by a value that equals the event's `orderId`, or a list that starts with such an order; `null`, `undefined`
 *   and an empty list count as not found;
 * - a number of rows (Knex, MikroORM);
 * - the results of TypeORM (`update`, and `query` with an UPDATE), `pg`, `mysql2`, postgres.js, Drizzle, Kysely, Prisma
 *   (`updateMany`), Sequelize and MongoDB, with or without the list that they are returned in. On MariaDB, Sequelize counts only
 *   rows that the update has changed: read the order there.
 *
 * @throws PaymentOrderNotFoundError if nothing was found: the delivery is retried for at least a day
 * @throws TypeError for any other object or list, and for a result that does not report the number of rows
 */
export function requireOrder<Found extends object | number | bigint | null | undefined>(
  event: Pick<PaymentEvent, 'orderId'> & Partial<PaymentEvent>,
  found: Found,
): NonNullable<Found> {
  if (!isThere(found ?? 0, event.orderId)) throw orderNotFoundError(event);
  return found as NonNullable<Found>;
}

function orderNotFoundError({
  orderId,
  shop,
  billedAmount,
  currency,
}: Pick<PaymentEvent, 'orderId'> & Partial<PaymentEvent>): PaymentOrderNotFoundError {
  const lookedFor = shop === undefined ? undefined : `shop ${shop}, billed ${billedAmount} ${currency}`;
  return new PaymentOrderNotFoundError(orderId, { lookedFor });
}

/** The properties in which results of an update report how many rows were matched or, failing that, changed. */
const ROW_COUNTS = ['affected', 'affectedRows', 'rowCount', 'numUpdatedRows', 'numAffectedRows', 'matchedCount'];

function isThere(result: object | number | bigint, orderId: string): boolean {
  if (typeof result !== 'object') return matchesRows(result);
  if (Array.isArray(result)) return isInList(result, orderId);
  const counted = ROW_COUNTS.find((name) => name in result);
  if (counted !== undefined) return matchesRows((result as Record<string, unknown>)[counted]);
  const names = Object.keys(result);
  if (names.length === 1 && names[0] === 'count') return matchesRows((result as { count: unknown }).count);
  if (isOrder(result, orderId)) return true;
  throw unknown(orderId);
}

function isInList(list: readonly unknown[], orderId: string): boolean {
  // postgres.js counts the rows in a property of its list.
  if ('count' in list && list.count !== null) return matchesRows(list.count);
  if (list.length === 0) return false;
  const [first, second] = list;
  // `query` of TypeORM on PostgreSQL: the rows that were returned, if any, and how many were updated.
  if (Array.isArray(first) && typeof second === 'number') return matchesRows(second);
  if (typeof first === 'object' || typeof first === 'number' || typeof first === 'bigint') {
    return first !== null && isThere(first, orderId);
  }
  throw unknown(orderId);
}

function matchesRows(count: unknown): boolean {
  if ((typeof count !== 'number' && typeof count !== 'bigint') || !(count >= 0)) {
    throw new TypeError('The driver does not report how many rows it updated: read the order and pass it instead.');
  }
  return count > 0;
}

/** A row is the order if one of its values is the order's id. Sequelize and Mongoose return the values from `toJSON`. */
function isOrder(row: object & { toJSON?: () => unknown }, orderId: string): boolean {
  const values: unknown = typeof row.toJSON === 'function' ? row.toJSON() : row;
  return Object.values(values ?? {}).some((value) => idOf(value) === orderId);
}

/** The text of an id: a text, a number, or an object with a text of its own, such as an `ObjectId`. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return String(value);
  const { toString } = (value ?? {}) as { toString?: () => string };
  return toString === Object.prototype.toString ? undefined : toString?.call(value);
}

function unknown(orderId: string): TypeError {
  return new TypeError(
    `requireOrder got neither an order (no value is the order's id, "${orderId}") nor the result of an update. ` +
      'Pass the number of rows: requireOrder(event, order ? 1 : 0).',
  );
}
