import type { Observable } from 'rxjs';
import type { PaymentEventName } from '../domain/payment-events.js';
import type { PaymentCloudEvent } from './cloud-event.js';

/** Options that all brokers share. Times in milliseconds. */
export interface PaymentBrokerOptions {
  /**
   * Stable name of the consumer. Each consumer gets its own delivery of every event; renaming one adds a consumer and
   * removes another. Default: `rabbitmq`, `nats` or `microservices`.
   */
  consumer?: string;
  /** Which events to send. Default: all. */
  events?: PaymentEventName[];
  /** Only send events of these shops. Default: all shops. */
  shops?: string[];
  /**
   * URI reference of this application, for example `https://shop.example/payments`. Followed by a slash and the shop's
   * name, it is the `source` of the CloudEvents envelope. Default `/payment-acceptance`.
   */
  source?: string;
  /** How long connecting may take, including the check that the exchange or stream exists. Default 5000. */
  connectTimeoutMs?: number;
  /**
   * How long the broker's acknowledgement may take. After that the connection counts as lost and the event is sent
   * again, without counting an attempt. Default 10000; keep it below `deliveries.timeoutMs`.
   */
  acknowledgeTimeoutMs?: number;
}

/** Options of `PaymentRabbitMqModule`. */
export interface PaymentRabbitMqOptions extends PaymentBrokerOptions {
  /**
   * `amqp://user:password@host:5672/vhost` or `amqps://…`. With several, each connection attempt takes the next one.
   */
  url: string | string[];
  /** An existing durable exchange. An event that no queue takes is an error and is sent again. */
  exchange: string;
  /** Routing key of an event. Default: event and shop, as in `payment.succeeded.main`. */
  routingKey?: (event: PaymentCloudEvent) => string;
  /** Further options of amqplib's `connect`, such as `ca`, `cert`, `key` and `servername` for TLS. Default: none. */
  connection?: Readonly<Record<string, unknown>>;
}

/** Options of `PaymentNatsModule`. */
export interface PaymentNatsOptions extends PaymentBrokerOptions {
  /** `nats://host:4222`, or several of one cluster. */
  servers: string | string[];
  /** An existing JetStream stream that accepts the subjects of the events. */
  stream: string;
  /** Subject of an event. Default: event and shop, as in `payment.succeeded.main`. */
  subject?: (event: PaymentCloudEvent) => string;
  /** Further options of `connect`, such as `user`, `pass`, `token`, `authenticator` and `tls`. Default: none. */
  connection?: Readonly<Record<string, unknown>>;
}

/** The part of the `ClientProxy` of `@nestjs/microservices` that is used. */
export interface PaymentEventClient {
  connect(): Promise<unknown>;
  emit(pattern: unknown, data: unknown): Observable<unknown>;
}

/** Options of `PaymentMicroservicesModule`. */
export interface PaymentMicroservicesOptions extends PaymentBrokerOptions {
  /** A client of any transport but gRPC, which has no events. Closing it stays up to you; `ClientsModule` does so. */
  client: PaymentEventClient;
  /** Pattern of an event, for `@EventPattern`. Default: the event's name, as in `payment.succeeded`. */
  pattern?: (event: PaymentCloudEvent) => unknown;
  /** Message for an event, for example a transport's record with key, headers or QoS. Default: the envelope. */
  message?: (event: PaymentCloudEvent) => unknown;
}
