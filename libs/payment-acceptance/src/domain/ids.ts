/*
 * Texts that each name one kind of thing: the compiler takes any plain text for an id, and no id of another kind. None has
 * the property that tells them apart.
 */

/** Ours, of a bill: a random UUID made before the service is asked to create it. */
export type IntentId = string & { readonly idOf?: 'intent' };

/** The service's, of a bill: `bill_id`, `TrsId` of a postback (sections 2.2 and 2.5, documented). */
export type BillId = string & { readonly idOf?: 'bill' };

/** The shop's own, of what is paid for: `order_id`, `InvId` of a callback (section 2.1). Unique within a shop (assumed). */
export type OrderId = string & { readonly idOf?: 'order' };

/** The service's, of a payment (section 2.3, documented). Unique within a shop (assumed). */
export type PaymentId = string & { readonly idOf?: 'payment' };

/** Ours, of an event on its way to one consumer. */
export type DeliveryId = string & { readonly idOf?: 'delivery' };
