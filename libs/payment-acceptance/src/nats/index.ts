export { PaymentNatsModule } from './payment-nats.module.js';
export type { PaymentBrokerOptions, PaymentNatsOptions } from '../brokers/options.js';
export type { PaymentBrokerAsyncOptions } from '../brokers/broker.module.js';
export type { PaymentCloudEvent } from '../events/cloud-event.js';
