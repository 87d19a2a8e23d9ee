import { Module, type DynamicModule } from '@nestjs/common';
import type { Broker } from '../broker-consumer.js';
import { brokerModule, type PaymentBrokerAsyncOptions } from '../broker.module.js';
import type { PaymentRabbitMqOptions } from '../options.js';
import { areAddresses, resolveBrokerOptions, topicOf } from '../resolved-options.js';
import { connectRabbitMq } from './rabbitmq.connection.js';

/**
 * Sends events to RabbitMQ, beside `PaymentAcceptanceModule`, as persistent messages to your exchange. An event counts
 * as delivered when the broker has confirmed it and a queue has taken it.
 */
@Module({})
export class PaymentRabbitMqModule {
  static register(options: PaymentRabbitMqOptions): DynamicModule {
    return PaymentRabbitMqModule.registerAsync({ useFactory: () => options });
  }

  static registerAsync(options: PaymentBrokerAsyncOptions<PaymentRabbitMqOptions>): DynamicModule {
    return brokerModule(PaymentRabbitMqModule, options, rabbitMq);
  }
}

function rabbitMq(moduleOptions: PaymentRabbitMqOptions): Broker {
  const origin = PaymentRabbitMqModule.name;
  const { url, exchange, routingKey = topicOf, connection = {} } = moduleOptions;
  const options = resolveBrokerOptions(moduleOptions, origin, 'rabbitmq', {
    url: !areAddresses(url, ['amqp:', 'amqps:']) && 'must be amqp://… or amqps://…, or several.',
    exchange: (typeof exchange !== 'string' || exchange === '') && 'must be the name of an exchange.',
    routingKey: typeof routingKey !== 'function' && 'must be a function of the event.',
    connection: false,
  });
  const { consumer: name, connectTimeoutMs } = options;
  const urls = [url].flat();
  const suspects = new Set<string>();
  let attempts = 0;
  return {
    origin,
    options,
    connect: (resumed) => {
      const next = urls[attempts++ % urls.length] as string;
      return connectRabbitMq(
        { url: next, exchange, routingKey, connection, name, connectTimeoutMs, suspectEventIds: suspects },
        resumed,
      );
    },
  };
}
