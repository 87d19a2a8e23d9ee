import type { DynamicModule } from '@nestjs/common';
import type { PaymentCloudEvent } from 'nestjs-payment-acceptance/rabbitmq';

/** A message as received. */
export interface Received {
  readonly messageId: string;
  readonly contentType: string;
  readonly event: PaymentCloudEvent;
}

/** A queue or stream on a broker that keeps its messages, for one test. */
export interface Bus {
  /** Sends a host's events there, through this local port. */
  module(port: number): DynamicModule;
  /** All messages so far, in the broker's order. */
  received(): Promise<Received[]>;
  /** Deletes it. */
  remove(): Promise<void>;
}

/** One kind of broker. */
export interface BrokerKind {
  readonly consumer: string;
  /** Whether the broker itself drops duplicates. */
  readonly deduplicates: boolean;
  makeBus(url: string): Promise<Bus>;
}
