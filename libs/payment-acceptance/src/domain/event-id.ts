import type { BillId, DeliveryId } from './ids.js';
import type { PaymentEventName } from './payment-events.js';
import { uuidFromName } from './uuid.js';

/**
 * An event's id is derived only from what the service knows: the shop, the bill, and what else the event is about (the
 * payment; for a review, its reason and occasion). So it survives a restore, an import or a recovery of our tables, and
 * never equals the id of another application's event, whatever names and numbers either application uses.
 */
export function eventId(
  name: PaymentEventName,
  { shopId, billId }: { readonly shopId: string; readonly billId: BillId },
  facts: readonly (string | null)[],
): string {
  return uuidFromName(JSON.stringify(['event', name, shopId, billId, ...facts]));
}

/** The id of the delivery of an event to a consumer: the same for every attempt, replay and restore. */
export function deliveryId(eventId: string, consumer: string): DeliveryId {
  return uuidFromName(`delivery:${eventId}:${consumer}`);
}
