/** Counts and ages that show whether somebody must act. A count stops at 10,000, which then means that many or more. */
export interface PaymentStats {
  /** Creations of unknown outcome. */
  readonly unknownBills: number;
  /** Bills that the service created but that are missing from the ledger, except dismissed ones. */
  readonly lostBills: number;
  readonly openReviews: number;
  /** Open reviews of payments whose status is not in the specification, among the first 10,000 open reviews. */
  readonly unknownStatuses: number;
  readonly deadLetters: number;
  readonly pendingDeliveries: number;
  /** Age of the oldest pending delivery, in milliseconds; `null` if there is none. */
  readonly oldestDeliveryMs: number | null;
  /**
   * How long the most overdue check, scheduled or requested by a callback, has waited, in milliseconds; `null` if there
   * is none.
   */
  readonly oldestCheckMs: number | null;
  /** Callbacks that name no bill of ours and still wait for one. */
  readonly waitingCallbacks: number;
}

/** A consumer with failing deliveries. */
export interface FailingConsumer {
  readonly consumer: string;
  /**
   * How many of its deliveries have failed and are being retried, among the first 10,000 such deliveries of all
   * consumers.
   */
  readonly deliveries: number;
  /** Age of the oldest event of these deliveries, in milliseconds. */
  readonly oldestMs: number;
  /** For how many of these deliveries the handler found no order: it threw a `PaymentOrderNotFoundError`. */
  readonly ordersNotFound: number;
  /**
   * Why the oldest of these deliveries failed: the code or the name of its latest error, or `no-connection` or
   * `unanswered` while none of its attempts could begin.
   */
  readonly reason: string;
}

/** A shop with failing checks. */
export interface FailingShop {
  readonly shop: string;
  /**
   * How many of its bills have failed at least their last five checks, among the first 10,000 such bills of all shops.
   */
  readonly bills: number;
}

/** A shop that has been in use, and whether the service refuses it. */
export interface ShopState {
  readonly shop: string;
  /** Since when the service has refused the shop, ISO 8601; `null` if it does not. */
  readonly refusedSince: string | null;
  readonly refusedReason: string | null;
}
