import type { DeliveryId, IntentId, OrderId } from '../ids.js';

/** Which dead letters are meant; what is left out is any. */
export interface DeadLetterFilter {
  readonly deliveryId?: DeliveryId;
  readonly consumer?: string;
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
}

/** A delivery that was given up. */
export interface DeadLetter {
  readonly deliveryId: DeliveryId;
  readonly consumer: string;
  readonly event: string;
  readonly eventId: string;
  readonly shop: string;
  readonly orderId: OrderId;
  /** Id of our bill. */
  readonly intentId: IntentId;
  readonly attempts: number;
  /** How often it was sent again before. */
  readonly replays: number;
  readonly lastError: string | null;
  /** When it was given up, ISO 8601. */
  readonly endedAt: string | null;
}

/** Whether a delivery can have this id. */
export function isDeliveryId(text: string): boolean {
  return /^\d{1,18}$/.test(text);
}
