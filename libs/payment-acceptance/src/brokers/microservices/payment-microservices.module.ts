import { Module, type DynamicModule } from '@nestjs/common';
import { lastValueFrom } from 'rxjs';
import { describeError } from '../../common/errors.js';
import type { PaymentCloudEvent } from '../cloud-event.js';
import type { Broker } from '../broker-consumer.js';
import type { BrokerConnection } from '../broker-link.js';
import { refusedError, unavailableError } from '../broker.errors.js';
import { brokerModule, type PaymentBrokerAsyncOptions } from '../broker.module.js';
import type { PaymentMicroservicesOptions } from '../options.js';
import { resolveBrokerOptions } from '../resolved-options.js';

/**
 * Sends events through a client of `@nestjs/microservices`, beside `PaymentAcceptanceModule`. An event counts as
 * delivered when the client's `emit()` succeeds. What that proves depends on the transport: with some, only that the
 * event has left the process.
 */
@Module({})
export class PaymentMicroservicesModule {
  static register(options: PaymentMicroservicesOptions): DynamicModule {
    return PaymentMicroservicesModule.registerAsync({ useFactory: () => options });
  }

  static registerAsync(options: PaymentBrokerAsyncOptions<PaymentMicroservicesOptions>): DynamicModule {
    return brokerModule(PaymentMicroservicesModule, options, microservice);
  }
}

function microservice(moduleOptions: PaymentMicroservicesOptions): Broker {
  const origin = PaymentMicroservicesModule.name;
  const { client } = moduleOptions as Partial<PaymentMicroservicesOptions>;
  const usable = typeof client?.emit === 'function' && typeof client.connect === 'function';
  const options = resolveBrokerOptions(moduleOptions, origin, 'microservices', {
    client: !usable && 'must be a ClientProxy, as ClientsModule provides it.',
    pattern: false,
    message: false,
  });
  return { origin, options, connect: () => connect(moduleOptions) };
}

/** The client reconnects by itself; calling its `connect()` also shows whether it is connected. */
async function connect({ client, pattern = nameOf, message = itself }: PaymentMicroservicesOptions) {
  await client.connect();
  let lose: (reason: string) => void = () => undefined;
  const lost = new Promise<string>((resolve) => (lose = resolve));
  const connection: BrokerConnection = {
    ready: true,
    lost,
    async publish(event) {
      try {
        await lastValueFrom(client.emit(pattern(event), message(event)), { defaultValue: undefined });
      } catch (error) {
        const what = `The client did not send the event: ${describeError(error)}`;
        await client.connect().catch((cause: unknown) => {
          lose(describeError(cause));
          throw unavailableError(what);
        });
        throw refusedError(what);
      }
    },
    close: () => Promise.resolve(),
  };
  return connection;
}

const nameOf = ({ type }: PaymentCloudEvent): string => type;
const itself = (event: PaymentCloudEvent): PaymentCloudEvent => event;
