import type { OrderId } from '../ids.js';

/** Which past events a consumer is to get; what is left out is any. */
export interface PastEventFilter {
  readonly consumer: string;
  /** Name of the events, such as `payment.succeeded`. */
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
  /** Settled at this moment or later. */
  readonly from?: Date;
  /** Settled before this moment. */
  readonly to?: Date;
}

export interface PastEventCounts {
  /** Events that the consumer has no delivery of, and never had. */
  readonly missing: number;
  /** Events of which it may have had one that is done, and that retention has removed. */
  readonly uncertain: number;
}
