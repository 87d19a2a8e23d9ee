import type { FactoryProvider } from '@nestjs/common';
import { PaymentProbe } from '../common/probe.js';
import { BillStore } from './bill.store.js';
import { CallbackBatchStore } from './callback-batch.store.js';
import { CallbackStore } from './callback.store.js';
import { CheckStore } from './check.store.js';
import { Database } from './database.js';
import { DeliveryStore } from './delivery.store.js';
import { DestroyableTransaction } from './destroyable-transaction.js';
import { DueStore } from './due.store.js';
import { EvidenceStore } from './evidence.store.js';
import { ImportStore } from './import.store.js';
import { LedgerStore } from './ledger.store.js';
import { MariaBillStore } from './mariadb/bill.store.js';
import { MariaCallbackBatchStore } from './mariadb/callback-batch.store.js';
import { MariaCallbackStore } from './mariadb/callback.store.js';
import { MariaCheckStore } from './mariadb/check.store.js';
import { MariaDeliveryStore } from './mariadb/delivery.store.js';
import { MariaDestroyableTransaction } from './mariadb/destroyable-transaction.js';
import { MariaDueStore } from './mariadb/due.store.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { MariaRetentionStore } from './mariadb/retention.store.js';
import { MariaSettlementStore } from './mariadb/settlement.store.js';
import { MariaSettlementWriter } from './mariadb/settlement.writer.js';
import { OperatorStore } from './operator.store.js';
import { PostgresRetentionStore } from './postgres/retention.store.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { RefusalStore } from './refusal.store.js';
import { ResultStore } from './result.store.js';
import { RetentionStore } from './retention.store.js';
import { SettlementStore } from './settlement.store.js';
import { SettlementWriter } from './settlement.writer.js';

type Made<S, D> = new (database: D, probe: PaymentProbe) => S;

/** A store, and what stands in for it on MariaDB where its statements are not the same there in other words. */
export function storeProvider<S>(
  store: Made<S, Database>,
  maria: Made<Pick<S, keyof S>, MariaDatabase> = store,
): FactoryProvider<Pick<S, keyof S>> {
  return {
    provide: store,
    inject: [Database, PaymentProbe],
    useFactory: (database: Database, probe: PaymentProbe) =>
      database instanceof MariaDatabase ? new maria(database, probe) : new store(database, probe),
  };
}

/** A store whose statements differ on the two databases, each with a class of its own. */
function siblings<S>(
  token: abstract new () => S,
  postgres: Made<S, Database>,
  maria: Made<S, MariaDatabase>,
): FactoryProvider<S> {
  return {
    provide: token,
    inject: [Database, PaymentProbe],
    useFactory: (database: Database, probe: PaymentProbe) =>
      database instanceof MariaDatabase ? new maria(database, probe) : new postgres(database, probe),
  };
}

/** The stores for the host's database. */
export const STORES: readonly FactoryProvider[] = [
  storeProvider(BillStore, MariaBillStore),
  storeProvider(CallbackStore, MariaCallbackStore),
  storeProvider(CallbackBatchStore, MariaCallbackBatchStore),
  storeProvider(CheckStore, MariaCheckStore),
  storeProvider(DueStore, MariaDueStore),
  storeProvider(DeliveryStore, MariaDeliveryStore),
  storeProvider(DestroyableTransaction, MariaDestroyableTransaction),
  storeProvider(LedgerStore),
  storeProvider(EvidenceStore),
  storeProvider(ImportStore),
  storeProvider(OperatorStore),
  storeProvider(ReconciliationStore),
  storeProvider(RefusalStore),
  storeProvider(ResultStore),
  siblings(RetentionStore, PostgresRetentionStore, MariaRetentionStore),
  storeProvider(SettlementStore, MariaSettlementStore),
  storeProvider(SettlementWriter, MariaSettlementWriter),
];
