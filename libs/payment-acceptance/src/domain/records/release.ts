import type { OrderId } from '../ids.js';

/** Of which orders what waits for them is let go; what is left out is any. */
export interface ReleaseFilter {
  readonly shop?: string;
  readonly orderId?: OrderId;
}

/** What a release has let go. */
export interface Released {
  /** Bills whose events are no longer kept back. */
  readonly bills: number;
  /** Deliveries whose handler had found no order, and that are tried again now, with all their attempts. */
  readonly retried: number;
}
