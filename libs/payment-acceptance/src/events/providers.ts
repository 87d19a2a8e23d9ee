import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { AddedConsumers } from './added-consumers.js';
import { DeliveryWorker } from './delivery.worker.js';
import { EventEmitterConsumers } from './event-emitter.consumer.js';
import { HandlerExplorer } from './handler.explorer.js';
import { HANDLER_TRANSACTIONS_PROVIDER } from './handler-transactions.provider.js';
import { DeliveryStore } from './storage/delivery.store.js';
import { MariaDeliveryStore } from './storage/mariadb/delivery.store.js';
import { PostgresDeliveryStore } from './storage/postgres/delivery.store.js';

/** Consumers and deliveries. */
export const EVENTS: readonly Provider[] = [
  HandlerExplorer,
  EventEmitterConsumers,
  AddedConsumers,
  HANDLER_TRANSACTIONS_PROVIDER,
  DeliveryWorker,
  perDatabase(DeliveryStore, PostgresDeliveryStore, MariaDeliveryStore),
];
