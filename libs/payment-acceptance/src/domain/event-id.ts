import type { BillId, DeliveryId } from './ids.js';
import type { PaymentEventName } from './payment-events.js';
import { uuidFromName } from './uuid.js';

/**
 * An event's id is derived only from the shop's name and from what the service knows: the shop, the bill, and what else
 * the event is about (the payment; for a review, its reason and occasion). So it survives a restore, an import or a
 * recovery of our tables. Two shops differ even if two installations of the service gave them the same numbers.
 */
export function eventId(
  name: PaymentEventName,
  { shop, shopId, billId }: { readonly shop: string; readonly shopId: string; readonly billId: BillId },
  facts: readonly (string | null)[],
): string {
  return uuidFromName(JSON.stringify(['event', name, shop, shopId, billId, ...facts]));
}

/** The id of the delivery of an event to a consumer: the same for every attempt, replay and restore. */
export function deliveryId(eventId: string, consumer: string): DeliveryId {
  return uuidFromName(`delivery:${eventId}:${consumer}`);
}
