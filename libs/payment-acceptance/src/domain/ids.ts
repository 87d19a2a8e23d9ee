/*
 * Branded strings, one per kind of id: the compiler accepts any plain string as an id, but no id of another kind. The
 * brand exists only in the type.
 */

/** Our id of a bill: a random UUID made before the request that creates it. */
export type IntentId = string & { readonly idOf?: 'intent' };

/** The service's id of a bill: `bill_id`, `TrsId` in a postback (sections 2.2 and 2.5, documented). */
export type BillId = string & { readonly idOf?: 'bill' };

/** The shop's id of an order: `order_id`, `InvId` in a callback (section 2.1). Unique within a shop (assumed). */
export type OrderId = string & { readonly idOf?: 'order' };

/** The service's id of a payment (section 2.3, documented). Unique within a shop (assumed). */
export type PaymentId = string & { readonly idOf?: 'payment' };

/** Our id of a delivery: one event on its way to one consumer. */
export type DeliveryId = string & { readonly idOf?: 'delivery' };

/** An id that the service issued: 1 to 128 visible ASCII characters, without a space (assumed). */
export function isServiceId(value: unknown): value is BillId | PaymentId {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value);
}
