declare const kind: unique symbol;

/** A text that names one kind of thing: the compiler takes any plain text for it, and no id of another kind. */
type Id<Kind extends string> = string & { readonly [kind]?: Kind };

/** Ours, of a bill: a random UUID made before the service is asked to create it. */
export type IntentId = Id<'intent'>;

/** The service's, of a bill: `bill_id`, `TrsId` of a postback (sections 2.1 and 2.5, documented). */
export type BillId = Id<'bill'>;

/** The shop's own, of what is paid for: `order_id`, `InvId` of a callback. Unique within a shop. */
export type OrderId = Id<'order'>;

/** The service's, of a payment (section 2.3, documented). Unique within a shop. */
export type PaymentId = Id<'payment'>;

/** Ours, of an event on its way to one consumer. */
export type DeliveryId = Id<'delivery'>;
