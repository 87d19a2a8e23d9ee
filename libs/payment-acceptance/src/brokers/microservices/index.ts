export { PaymentMicroservicesModule } from './payment-microservices.module.js';
export type { PaymentBrokerOptions, PaymentEventClient, PaymentMicroservicesOptions } from '../options.js';
export type { PaymentBrokerAsyncOptions } from '../broker.module.js';
export type { PaymentCloudEvent } from '../cloud-event.js';
