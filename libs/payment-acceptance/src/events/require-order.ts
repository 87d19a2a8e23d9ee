import type { PaymentEvent } from '../domain/payment-events.js';
import { PaymentOrderNotFoundError } from './order-not-found.js';

/**
 * Returns what a handler has found of an event's order, and throws if it found nothing, so that a payment whose order is gone
 * never passes silently. Pass the order that you have read, or the result of an update:
 *
 * ```ts
 * requireOrder(event, await manager.update(Order, { id: event.orderId }, { status: 'paid' }));
 * ```
 *
 * @param found an order, or `null` or `undefined` if there is none; or a result with `affected`, the number of rows that
 *   an `UPDATE` has matched
 * @throws PaymentOrderNotFoundError if nothing was found: the delivery is retried for at least a day
 * @throws TypeError if `affected` is no number, because the driver does not report it
 */
export function requireOrder<Found>(
  event: Pick<PaymentEvent, 'orderId'> & Partial<PaymentEvent>,
  found: Found,
): NonNullable<Found> {
  if (found === null || found === undefined) throw notFound(event);
  if (typeof found === 'object' && 'affected' in found) {
    if (typeof found.affected !== 'number') {
      throw new TypeError(
        'The driver does not report how many rows it updated: read the order, and pass that instead.',
      );
    }
    if (found.affected === 0) throw notFound(event);
  }
  return found;
}

function notFound({
  orderId,
  shop,
  billedAmount,
  currency,
}: Pick<PaymentEvent, 'orderId'> & Partial<PaymentEvent>): PaymentOrderNotFoundError {
  const lookedFor = shop === undefined ? undefined : `shop ${shop}, billed ${billedAmount} ${currency}`;
  return new PaymentOrderNotFoundError(orderId, { lookedFor });
}
