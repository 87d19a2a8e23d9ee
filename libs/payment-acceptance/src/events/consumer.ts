import type { PaymentEventMap, PaymentEventName } from '../domain/payment-events.js';

/**
 * What a durable handler receives in addition to the event. `Tx` is the transaction of the host's data layer:
 * `PaymentEventContext<EntityManager>` with TypeORM, `PaymentEventContext<Prisma.TransactionClient>` with Prisma, as the option
 * `transactions` says.
 */
export interface PaymentEventContext<Tx = unknown> {
  /** Writes through this transaction commit together with the mark that the delivery is done, or not at all. */
  readonly tx: Tx;
  /** The same, under TypeORM's name for it. */
  readonly manager: Tx;
  /** Aborts at the time limit, when the session behind `tx` is ended. */
  readonly signal: AbortSignal;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * A deterministic UUID, derived from the event and the consumer: use it as an idempotency key for other systems. It is the same for
   * every attempt and replay, and after a restore, an import or a recovery. Two applications that use the same account at the service
   * and share such a system need consumers with different names.
   */
  readonly deliveryId: string;
}

export type AnyPaymentEvent = PaymentEventMap[PaymentEventName];

/**
 * A `transaction` consumer runs inside the transaction that marks its delivery done. `lease` and `broker` consumers run
 * outside any transaction and are marked done afterwards, so they receive events at least once. An event that a broker
 * leaves unanswered does not count as an attempt.
 */
export type EventConsumer = {
  readonly name: string;
  readonly event: PaymentEventName;
  /** `null` for all shops. */
  readonly shops: readonly string[] | null;
} & (
  | {
      readonly kind: 'transaction';
      handle(event: AnyPaymentEvent, context: PaymentEventContext): Promise<void>;
    }
  | { readonly kind: 'lease'; handle: HandOver }
  | {
      readonly kind: 'broker';
      /** Ends by itself when the signal aborts; `isUnanswered` then tells whether the broker had answered. */
      handle: HandOver;
      /** Starts connecting, and stays connected from then on. */
      connect(): void;
      /** While it is not ready, its deliveries wait and no attempt is counted. */
      isReady(): boolean;
      /** The very first connection attempt, while it is in progress. */
      connecting(): Promise<void> | undefined;
      /** Whether the error means that the broker did not answer, so that nothing is wrong with the event. */
      isUnanswered(error: unknown): boolean;
    }
);

type HandOver = (event: AnyPaymentEvent, signal: AbortSignal, delivery: HandedDelivery) => Promise<void>;

interface HandedDelivery extends Pick<PaymentEventContext, 'attempt' | 'deliveryId'> {
  /** Trace context of the settlement. */
  readonly traceparent: string | null;
}

/** What a handler receives with the option `handlers: 'at-least-once'`: no transaction. */
export type PaymentDeliveryContext = Pick<PaymentEventContext, 'signal' | 'attempt' | 'deliveryId'>;
