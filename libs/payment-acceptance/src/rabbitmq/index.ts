export { PaymentRabbitMqModule } from './payment-rabbitmq.module.js';
export type { PaymentBrokerOptions, PaymentRabbitMqOptions } from '../brokers/options.js';
export type { PaymentBrokerAsyncOptions } from '../brokers/broker.module.js';
export type { PaymentCloudEvent } from '../events/cloud-event.js';
