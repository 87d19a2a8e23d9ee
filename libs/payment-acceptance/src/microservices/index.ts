export { PaymentMicroservicesModule } from './payment-microservices.module.js';
export type { PaymentBrokerOptions, PaymentEventClient, PaymentMicroservicesOptions } from '../brokers/options.js';
export type { PaymentBrokerAsyncOptions } from '../brokers/broker.module.js';
export type { PaymentCloudEvent } from '../events/cloud-event.js';
