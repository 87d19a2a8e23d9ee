/** Counts and ages that tell whether somebody has to look. */
export interface PaymentStats {
  /** Creations whose outcome never became known. */
  readonly unknownBills: number;
  /** Bills that the service has made and the ledger does not have, and that nobody has dismissed. */
  readonly lostBills: number;
  readonly openReviews: number;
  readonly deadLetters: number;
  readonly pendingDeliveries: number;
  /** Bills whose events are kept back until they are released, and their deliveries, which count as pending, too. */
  readonly heldBills: number;
  readonly heldDeliveries: number;
  /** Age of the oldest pending delivery that is not kept back, and of the longest overdue check, in milliseconds. */
  readonly oldestDeliveryMs: number | null;
  readonly oldestCheckMs: number | null;
  /** Callbacks that name no bill of ours, and still wait for one. */
  readonly waitingCallbacks: number;
}

/** A consumer with deliveries that fail. */
export interface FailingConsumer {
  readonly consumer: string;
  /** How many of its deliveries fail and are tried again. */
  readonly deliveries: number;
  /** Age of the oldest event of these, in milliseconds. */
  readonly oldestMs: number;
  /** Of how many of these the handler has found no order: it threw an `OrderNotFoundError`. */
  readonly ordersNotFound: number;
}

/** A shop with bills whose checks fail. */
export interface FailingShop {
  readonly shop: string;
  /** How many of its bills have not been checked successfully in the last five attempts or more. */
  readonly bills: number;
}

/** A shop that there has been, and whether the service refuses it. */
export interface ShopState {
  readonly shop: string;
  /** Since when the service refuses the shop, ISO 8601; `null` where it does not. */
  readonly refusedSince: string | null;
  readonly refusedReason: string | null;
}
