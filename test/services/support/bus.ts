import type { DynamicModule } from '@nestjs/common';
import type { PaymentCloudEvent } from 'nestjs-payment-acceptance/rabbitmq';

/** A message as a receiver finds it. */
export interface Received {
  readonly messageId: string;
  readonly contentType: string;
  readonly event: PaymentCloudEvent;
}

/** A place on a broker that keeps what is sent to it, for one test. */
export interface Bus {
  /** Sends the events of a host there, through this port of this machine. */
  module(port: number): DynamicModule;
  /** All messages so far, in the broker's order. */
  received(): Promise<Received[]>;
  /** Removes it. */
  remove(): Promise<void>;
}

/** One kind of broker. */
export interface BrokerKind {
  readonly consumer: string;
  /** Whether the broker itself leaves out what it has already. */
  readonly deduplicates: boolean;
  makeBus(url: string): Promise<Bus>;
}
