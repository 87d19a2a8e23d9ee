import type { DynamicModule, FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import { PaymentRandom } from '../common/random.js';
import { registration } from '../common/registration.js';
import { AddedConsumers } from '../events/added-consumers.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import { BrokerConsumer, type Broker } from './broker-consumer.js';

/** Options made by a factory from injected providers. */
export interface PaymentBrokerAsyncOptions<Options> extends Pick<ModuleMetadata, 'imports'> {
  inject?: FactoryProvider['inject'];
  useFactory: FactoryProvider<Options>['useFactory'];
}

/** The options pass only through the factory: as a provider's value, Nest would keep them, passwords included. */
export function brokerModule<Options>(
  module: Type,
  { imports = [], inject = [], useFactory }: PaymentBrokerAsyncOptions<Options>,
  brokerOf: (options: Options) => Broker,
): DynamicModule {
  const provider: FactoryProvider<BrokerConsumer> = {
    provide: BrokerConsumer,
    inject: [AddedConsumers, DeliveryWorker, PaymentRandom, ...inject],
    useFactory: async (
      added: AddedConsumers,
      worker: DeliveryWorker,
      random: PaymentRandom,
      ...dependencies: unknown[]
    ) => new BrokerConsumer(brokerOf(await useFactory(...dependencies)), added, worker, random),
  };
  return { module, imports, providers: [provider, registration()] };
}
