import type { DeliveryId, IntentId, OrderId } from '../../domain/ids.js';

/** Selects dead letters; an omitted field matches all. */
export interface DeadLetterFilter {
  readonly deliveryId?: DeliveryId;
  readonly consumer?: string;
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
}

/** A delivery that was given up: a dead letter. */
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
  /** How often it was replayed. */
  readonly replays: number;
  readonly lastError: string | null;
  /** When it was given up, ISO 8601. */
  readonly endedAt: string | null;
}
