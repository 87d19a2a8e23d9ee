export { PaymentRabbitMqModule } from './payment-rabbitmq.module.js';
export type { PaymentBrokerOptions, PaymentRabbitMqOptions } from '../options.js';
export type { PaymentBrokerAsyncOptions } from '../broker.module.js';
export type { PaymentCloudEvent } from '../cloud-event.js';
