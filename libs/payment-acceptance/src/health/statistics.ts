/** Counts and ages that show whether somebody must act. A count stops at 10,000, which then means that many or more. */
export interface PaymentStats {
  /** Creations of unknown outcome. */
  readonly unknownBills: number;
  /** Bills that the service created but that are missing from the ledger, except dismissed ones. */
  readonly lostBills: number;
  readonly openReviews: number;
  /** Those of payments whose status is not in the specification, among the first 10,000 open reviews. */
  readonly unknownStatuses: number;
  readonly deadLetters: number;
  readonly pendingDeliveries: number;
  /** Age of the oldest pending delivery, in milliseconds; `null` if there is none. */
  readonly oldestDeliveryMs: number | null;
  /** How long the longest overdue check has waited, scheduled or requested by a callback, in milliseconds; `null` if there is none. */
  readonly oldestCheckMs: number | null;
  /** Callbacks that name no bill of ours and still wait for one. */
  readonly waitingCallbacks: number;
}

/** A consumer with failing deliveries. */
export interface FailingConsumer {
  readonly consumer: string;
  /** How many of its deliveries have failed and are retried: of the first 10,000 of all consumers. */
  readonly deliveries: number;
  /** Age of the oldest of their events, in milliseconds. */
  readonly oldestMs: number;
  /** For how many of them the handler found no order: it threw a `PaymentOrderNotFoundError`. */
  readonly ordersNotFound: number;
  /**
   * Why the oldest of them failed: the code or the name of its latest error, or `no-connection` or `unanswered` while none
   * of its attempts could begin.
   */
  readonly reason: string;
}

/** A shop with failing checks. */
export interface FailingShop {
  readonly shop: string;
  /** How many of its bills have failed their last five checks or more: of the first 10,000 of all shops. */
  readonly bills: number;
}

/** A shop that has been in use, and whether the service refuses it. */
export interface ShopState {
  readonly shop: string;
  /** Since when the service has refused the shop, ISO 8601; `null` if it does not. */
  readonly refusedSince: string | null;
  readonly refusedReason: string | null;
}
