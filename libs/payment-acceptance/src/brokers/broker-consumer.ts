import type { OnApplicationShutdown } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import type { PaymentRandom } from '../common/random.js';
import type { AddedConsumers } from '../events/added-consumers.js';
import { cloudEvent } from './cloud-event.js';
import type { DeliveryWorker } from '../events/delivery.worker.js';
import { BrokerLink, type BrokerLinkOptions } from './broker-link.js';
import { isUnavailable } from './broker.errors.js';
import type { ResolvedBrokerOptions } from './resolved-options.js';

export interface Broker {
  /** Name of the broker's module, for messages. */
  readonly origin: string;
  readonly options: ResolvedBrokerOptions;
  readonly connect: BrokerLinkOptions['connect'];
}

/** Sends events to one broker under a lease, outside any transaction, so at least once. */
export class BrokerConsumer implements OnApplicationShutdown {
  // Hidden from `util.inspect`, too: the connection settings contain passwords.
  readonly #link: BrokerLink;

  constructor(broker: Broker, added: AddedConsumers, worker: DeliveryWorker, random: PaymentRandom) {
    const { consumer: name, events, shops, source, ...limits } = broker.options;
    const onReady = (): void => worker.wake();
    const logger = new PaymentLogger('PaymentBrokers');
    const link = new BrokerLink({ ...limits, consumer: name, connect: broker.connect, random, onReady }, logger);
    this.#link = link;
    added.add(
      broker.origin,
      events.map((event) => ({
        kind: 'broker',
        name,
        event,
        shops,
        handle: (payload, signal, { traceparent }) => link.publish(cloudEvent(payload, source, traceparent), signal),
        connect: () => link.connect(),
        isReady: () => link.isReady(),
        connecting: () => link.connecting,
        isUnanswered: isUnavailable,
      })),
    );
  }

  /** Nest calls this after the deliveries have ended. */
  async onApplicationShutdown(): Promise<void> {
    await this.#link.close();
  }
}
