import type { FactoryProvider } from '@nestjs/common';
import { BillStore } from './bill.store.js';
import { CallbackBatchStore } from './callback-batch.store.js';
import { CallbackStore } from './callback.store.js';
import { CheckStore } from './check.store.js';
import { Database } from './database.js';
import { DeliveryStore } from './delivery.store.js';
import { DestroyableTransaction } from './destroyable-transaction.js';
import { DueStore } from './due.store.js';
import { ErasureStore } from './erasure.store.js';
import { EvidenceStore } from './evidence.store.js';
import { ImportStore } from './import.store.js';
import { InquiryStore } from './inquiry.store.js';
import { LedgerStore } from './ledger.store.js';
import { LostBillStore } from './lost-bill.store.js';
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
import { PastEventsStore } from './past-events.store.js';
import { PostgresBillStore } from './postgres/bill.store.js';
import { PostgresCallbackBatchStore } from './postgres/callback-batch.store.js';
import { PostgresCallbackStore } from './postgres/callback.store.js';
import { PostgresCheckStore } from './postgres/check.store.js';
import { PostgresDeliveryStore } from './postgres/delivery.store.js';
import { PostgresDestroyableTransaction } from './postgres/destroyable-transaction.js';
import { PostgresDueStore } from './postgres/due.store.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { PostgresRetentionStore } from './postgres/retention.store.js';
import { PostgresSettlementStore } from './postgres/settlement.store.js';
import { PostgresSettlementWriter } from './postgres/settlement.writer.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { BillHistoryStore } from './records/bill-history.store.js';
import { FiguresStore } from './records/figures.store.js';
import { RecordListsStore } from './records/record-lists.store.js';
import { StatisticsStore } from './records/statistics.store.js';
import { RecoveryStore } from './recovery.store.js';
import { RefusalStore } from './refusal.store.js';
import { ResultStore } from './result.store.js';
import { RetentionStore } from './retention.store.js';
import { SettlementStore } from './settlement.store.js';
import { SettlementWriter } from './settlement.writer.js';
import { ShopIdentityStore } from './shop-identity.store.js';
import { PaymentUnsupportedDataSourceError } from './storage.errors.js';

type Made<S, D> = new (database: D) => S;

/** A store whose statements are the same on both databases, apart from the dialect. */
export function shared<S>(store: Made<S, Database>): FactoryProvider<S> {
  return { provide: store, inject: [Database], useFactory: (database: Database) => new store(database) };
}

/** A store with a class of its own for each database. */
function perDatabase<S>(
  token: abstract new (...given: never[]) => S,
  postgres: Made<S, PostgresDatabase>,
  maria: Made<S, MariaDatabase>,
): FactoryProvider<S> {
  return {
    provide: token,
    inject: [Database],
    useFactory(database: Database) {
      if (database instanceof PostgresDatabase) return new postgres(database);
      if (database instanceof MariaDatabase) return new maria(database);
      throw new PaymentUnsupportedDataSourceError(database.dataSource.options.type);
    },
  };
}

/** The stores for the host's database. */
export const STORES: readonly FactoryProvider[] = [
  perDatabase(BillStore, PostgresBillStore, MariaBillStore),
  perDatabase(CallbackStore, PostgresCallbackStore, MariaCallbackStore),
  perDatabase(CallbackBatchStore, PostgresCallbackBatchStore, MariaCallbackBatchStore),
  perDatabase(CheckStore, PostgresCheckStore, MariaCheckStore),
  perDatabase(DeliveryStore, PostgresDeliveryStore, MariaDeliveryStore),
  perDatabase(DueStore, PostgresDueStore, MariaDueStore),
  perDatabase(RetentionStore, PostgresRetentionStore, MariaRetentionStore),
  perDatabase(SettlementStore, PostgresSettlementStore, MariaSettlementStore),
  perDatabase(DestroyableTransaction, PostgresDestroyableTransaction, MariaDestroyableTransaction),
  perDatabase(SettlementWriter, PostgresSettlementWriter, MariaSettlementWriter),
  shared(BillHistoryStore),
  shared(ErasureStore),
  shared(EvidenceStore),
  shared(FiguresStore),
  shared(ImportStore),
  shared(InquiryStore),
  shared(LedgerStore),
  shared(LostBillStore),
  shared(OperatorStore),
  shared(PastEventsStore),
  shared(ReconciliationStore),
  shared(RecordListsStore),
  shared(RecoveryStore),
  shared(RefusalStore),
  shared(ResultStore),
  shared(ShopIdentityStore),
  shared(StatisticsStore),
];
