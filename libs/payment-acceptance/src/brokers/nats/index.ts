export { PaymentNatsModule } from './payment-nats.module.js';
export type { PaymentBrokerOptions, PaymentNatsOptions } from '../options.js';
export type { PaymentBrokerAsyncOptions } from '../broker.module.js';
export type { PaymentCloudEvent } from '../cloud-event.js';
