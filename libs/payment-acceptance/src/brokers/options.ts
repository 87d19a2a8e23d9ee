import type { Observable } from 'rxjs';
import type { PaymentEventName } from '../domain/payment-events.js';
import type { PaymentCloudEvent } from '../events/cloud-event.js';

/** What every broker's consumer can be told. Times in milliseconds. */
export interface PaymentBrokerOptions {
  /**
   * Stable name of the consumer: each gets its own delivery of every event; renaming it is adding one consumer and
   * removing another. Default: `rabbitmq`, `nats` or `microservices`.
   */
  consumer?: string;
  /** Which events go out. Default: all. */
  events?: PaymentEventName[];
  /** Only events of these shops. Default: of all. */
  shops?: string[];
  /**
   * URI reference of this application, for example `https://shop.example/payments`; with a slash and the shop's name
   * behind it, it is the `source` of the CloudEvents envelope. Default `/payment-acceptance`.
   */
  source?: string;
  /** How long connecting may take, the check of what must be there included. Default 5000. */
  connectTimeoutMs?: number;
  /**
   * How long the broker's acknowledgement may take; then the connection counts as lost and the event is sent again, which
   * is no attempt. Default 10000; less than the `timeLimitMs` of `deliveries`.
   */
  acknowledgeTimeoutMs?: number;
}

/** Options of `PaymentRabbitMqModule`. */
export interface PaymentRabbitMqOptions extends PaymentBrokerOptions {
  /** `amqp://user:password@host:5672/vhost` or `amqps://…`; of several, each attempt to connect takes the next one. */
  url: string | string[];
  /** A durable exchange that exists. What no queue of it takes is an error, and sent again. */
  exchange: string;
  /** Routing key of an event. Default: event and shop, as in `payment.succeeded.main`. */
  routingKey?: (event: PaymentCloudEvent) => string;
  /** Further options of amqplib's `connect`, such as `ca`, `cert`, `key` and `servername` of TLS. Default: none. */
  connection?: Readonly<Record<string, unknown>>;
}

/** Options of `PaymentNatsModule`. */
export interface PaymentNatsOptions extends PaymentBrokerOptions {
  /** `nats://host:4222`, or several of one cluster. */
  servers: string | string[];
  /** A JetStream stream that exists and takes the subjects. */
  stream: string;
  /** Subject of an event. Default: event and shop, as in `payment.succeeded.main`. */
  subject?: (event: PaymentCloudEvent) => string;
  /** Further options of `connect`, such as `user`, `pass`, `token`, `authenticator` and `tls`. Default: none. */
  connection?: Readonly<Record<string, unknown>>;
}

/** What is used of a `ClientProxy` of `@nestjs/microservices`. */
export interface PaymentEventClient {
  connect(): Promise<unknown>;
  emit(pattern: unknown, data: unknown): Observable<unknown>;
}

/** Options of `PaymentMicroservicesModule`. */
export interface PaymentMicroservicesOptions extends PaymentBrokerOptions {
  /** A client of any transport but gRPC, which knows no events. It stays yours to close, as `ClientsModule` does. */
  client: PaymentEventClient;
  /** Pattern of an event, for `@EventPattern`. Default: the event's name, as in `payment.succeeded`. */
  pattern?: (event: PaymentCloudEvent) => unknown;
  /** What is sent of an event, for example a record of the transport with key, headers or QoS. Default: the envelope. */
  message?: (event: PaymentCloudEvent) => unknown;
}
