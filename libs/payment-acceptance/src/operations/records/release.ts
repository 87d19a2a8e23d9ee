import type { OrderId } from '../../domain/ids.js';

/** Selects the orders to release; an omitted field matches all. */
export interface ReleaseFilter {
  readonly shop?: string;
  readonly orderId?: OrderId;
}

/** What a release released. */
export interface Released {
  /** Bills whose events are no longer held back. */
  readonly bills: number;
  /** Deliveries whose handler had found no order; they are retried now, with all their attempts. */
  readonly retried: number;
}
