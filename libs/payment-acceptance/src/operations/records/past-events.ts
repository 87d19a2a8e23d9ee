import type { OrderId } from '../../domain/ids.js';

/** Selects past events to deliver to a consumer; an omitted field matches all. */
export interface PastEventFilter {
  readonly consumer: string;
  /** Event name, such as `payment.succeeded`. */
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
  /** Settled at this time or later. */
  readonly from?: Date;
  /** Settled before this time. */
  readonly to?: Date;
}
