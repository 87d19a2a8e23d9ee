import { Module, type DynamicModule } from '@nestjs/common';
import type { Broker } from '../broker-consumer.js';
import { brokerModule, type PaymentBrokerAsyncOptions } from '../broker.module.js';
import type { PaymentNatsOptions } from '../options.js';
import { areAddresses, resolveBrokerOptions, topicOf } from '../resolved-options.js';
import { connectNats } from './nats.connection.js';

/**
 * Sends events to NATS JetStream, beside `PaymentAcceptanceModule`. An event counts as delivered when the stream
 * acknowledges that it has stored it.
 */
@Module({})
export class PaymentNatsModule {
  static register(options: PaymentNatsOptions): DynamicModule {
    return PaymentNatsModule.registerAsync({ useFactory: () => options });
  }

  static registerAsync(options: PaymentBrokerAsyncOptions<PaymentNatsOptions>): DynamicModule {
    return brokerModule(PaymentNatsModule, options, nats);
  }
}

function nats(moduleOptions: PaymentNatsOptions): Broker {
  const origin = PaymentNatsModule.name;
  const { servers, stream, subject = topicOf, connection = {} } = moduleOptions;
  const options = resolveBrokerOptions(moduleOptions, origin, 'nats', {
    servers: !areAddresses(servers, ['nats:', 'tls:']) && 'must be nats://… or tls://…, or several.',
    stream: (typeof stream !== 'string' || !/^[^\s.*>/\\]+$/.test(stream)) && 'must be the name of a stream.',
    subject: typeof subject !== 'function' && 'must be a function of the event.',
    connection: false,
  });
  const { consumer: name, connectTimeoutMs, acknowledgeTimeoutMs } = options;
  const target = {
    servers: [servers].flat(),
    stream,
    subject,
    connection,
    name,
    connectTimeoutMs,
    acknowledgeTimeoutMs,
  };
  return { origin, options, connect: () => connectNats(target) };
}
