import type { EntityManager } from 'typeorm';
import type { PaymentEventMap, PaymentEventName } from '../domain/payment-events.js';

/** What a durable handler gets beside the event. */
export interface PaymentEventContext {
  /** Writes through this manager commit together with the delivery's done-mark, or not at all. */
  readonly manager: EntityManager;
  /** Aborts when the time limit is reached: the connection behind `manager` is destroyed at that moment. */
  readonly signal: AbortSignal;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The same for every attempt: fit as an idempotency key towards other systems. */
  readonly deliveryId: string;
}

export type AnyPaymentEvent = PaymentEventMap[PaymentEventName];

/**
 * One taker of one kind of event. `transaction` consumers run inside the transaction that marks their delivery done;
 * `lease` consumers run outside of any, and are marked afterwards: at least once. So are `broker` ones, which may also be
 * away: what they leave unanswered is no attempt.
 */
export type EventConsumer = {
  readonly name: string;
  readonly event: PaymentEventName;
  /** `null` for all shops. */
  readonly shops: readonly string[] | null;
} & (
  | { readonly kind: 'transaction'; handle(event: AnyPaymentEvent, context: PaymentEventContext): Promise<void> }
  | { readonly kind: 'lease'; handle: HandOver }
  | {
      readonly kind: 'broker';
      /** Ends by itself when the signal says so, and tells then whether the broker has answered. */
      handle: HandOver;
      /** Begins to connect, and keeps connected from then on. */
      connect(): void;
      /** Whether it could take an event now. While it says no, its deliveries wait and no attempt is counted. */
      isReady(): boolean;
      /** The very first attempt to connect, while it lasts. */
      connecting(): Promise<void> | undefined;
      /** Whether the broker has not answered: nothing is wrong with the event then. */
      isUnanswered(error: unknown): boolean;
    }
);

/** Resolves when the event is in other hands; `traceparent` is where the trace of its settlement goes on. */
type HandOver = (event: AnyPaymentEvent, signal: AbortSignal, traceparent?: string | null) => Promise<void>;
