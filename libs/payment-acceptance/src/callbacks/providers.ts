import type { Provider } from '@nestjs/common';
import { perDatabase } from '../database/stores.js';
import { AwaitedResults } from './awaited-results.js';
import { CallbackBodies } from './callback-bodies.js';
import { CallbackWatch } from './callback-watch.js';
import { CallbackResponder } from './callback.responder.js';
import { PaymentCallbacks } from './callback.service.js';
import { DroppedCallbacks } from './dropped-callbacks.js';
import { CallbackJournal } from './journal.js';
import { CallbackStore } from './storage/callback.store.js';
import { MariaCallbackStore } from './storage/mariadb/callback.store.js';
import { NamedBillStore } from './storage/named-bill.store.js';
import { PostgresCallbackStore } from './storage/postgres/callback.store.js';
import { ResultStore } from './storage/result.store.js';

/** Redirects and postbacks. */
export const CALLBACKS: readonly Provider[] = [
  PaymentCallbacks,
  CallbackResponder,
  CallbackBodies,
  CallbackJournal,
  CallbackWatch,
  AwaitedResults,
  DroppedCallbacks,
  perDatabase(CallbackStore, PostgresCallbackStore, MariaCallbackStore),
  NamedBillStore,
  ResultStore,
];
