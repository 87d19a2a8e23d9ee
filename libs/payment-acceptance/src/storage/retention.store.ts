/**
 * Removes what has served its purpose, a batch at a time, in whichever instance is at it. Only ended rows are ever touched:
 * a pending callback, a bill, a payment, an event, a review, a dead letter and the lock of an order stay, whatever their
 * age. Each method gives the number of rows; there may be more of them where it is `limit`.
 */
export abstract class RetentionStore {
  /** Empties the raw fields of consumed callbacks; what was found out about them stays. */
  abstract redactCallbacks(afterMs: number, limit: number): Promise<number>;

  abstract deleteCallbacks(afterMs: number, limit: number): Promise<number>;

  /** One that is done stays while an earlier one of its bill is not: by it that one knows that it is late. */
  abstract deleteDeliveries(afterMs: number, limit: number): Promise<number>;
}
