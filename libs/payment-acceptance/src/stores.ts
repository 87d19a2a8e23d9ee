import type { FactoryProvider } from '@nestjs/common';
import { BillStore } from './bills/storage/bill.store.js';
import { CallbackBatchStore } from './callbacks/storage/callback-batch.store.js';
import { CallbackStore } from './callbacks/storage/callback.store.js';
import { CheckStore } from './settlement/storage/check.store.js';
import { Database } from './database/database.js';
import { DeliveryStore } from './events/storage/delivery.store.js';
import { DestroyableTransaction } from './database/destroyable-transaction.js';
import { DueStore } from './settlement/storage/due.store.js';
import { ErasureStore } from './operations/storage/erasure.store.js';
import { EvidenceStore } from './operations/storage/evidence.store.js';
import { ImportStore } from './operations/storage/import.store.js';
import { InquiryStore } from './settlement/storage/inquiry.store.js';
import { LedgerStore } from './operations/storage/ledger.store.js';
import { LostBillStore } from './operations/storage/lost-bill.store.js';
import { MariaBillStore } from './bills/storage/mariadb/bill.store.js';
import { MariaCallbackBatchStore } from './callbacks/storage/mariadb/callback-batch.store.js';
import { MariaCallbackStore } from './callbacks/storage/mariadb/callback.store.js';
import { MariaCheckStore } from './settlement/storage/mariadb/check.store.js';
import { MariaDeliveryStore } from './events/storage/mariadb/delivery.store.js';
import { MariaDestroyableTransaction } from './database/mariadb/destroyable-transaction.js';
import { MariaDueStore } from './settlement/storage/mariadb/due.store.js';
import { MariaDatabase } from './database/mariadb/maria.database.js';
import { MariaRetentionStore } from './retention/storage/mariadb/retention.store.js';
import { MariaSettlementStore } from './settlement/storage/mariadb/settlement.store.js';
import { MariaSettlementWriter } from './settlement/storage/mariadb/settlement.writer.js';
import { OperatorStore } from './operations/storage/operator.store.js';
import { PastEventsStore } from './operations/storage/past-events.store.js';
import { PostgresBillStore } from './bills/storage/postgres/bill.store.js';
import { PostgresCallbackBatchStore } from './callbacks/storage/postgres/callback-batch.store.js';
import { PostgresCallbackStore } from './callbacks/storage/postgres/callback.store.js';
import { PostgresCheckStore } from './settlement/storage/postgres/check.store.js';
import { PostgresDeliveryStore } from './events/storage/postgres/delivery.store.js';
import { PostgresDestroyableTransaction } from './database/postgres/destroyable-transaction.js';
import { PostgresDueStore } from './settlement/storage/postgres/due.store.js';
import { PostgresDatabase } from './database/postgres/postgres.database.js';
import { PostgresRetentionStore } from './retention/storage/postgres/retention.store.js';
import { PostgresSettlementStore } from './settlement/storage/postgres/settlement.store.js';
import { PostgresSettlementWriter } from './settlement/storage/postgres/settlement.writer.js';
import { ReconciliationStore } from './operations/storage/reconciliation.store.js';
import { BillHistoryStore } from './operations/storage/records/bill-history.store.js';
import { FiguresStore } from './operations/storage/records/figures.store.js';
import { RecordListsStore } from './operations/storage/records/record-lists.store.js';
import { StatisticsStore } from './health/storage/statistics.store.js';
import { RecoveryStore } from './operations/storage/recovery.store.js';
import { RefusalStore } from './health/storage/refusal.store.js';
import { NamedBillStore } from './callbacks/storage/named-bill.store.js';
import { ResultStore } from './callbacks/storage/result.store.js';
import { RetentionStore } from './retention/storage/retention.store.js';
import { SettlementStore } from './settlement/storage/settlement.store.js';
import { SettlementWriter } from './settlement/storage/settlement.writer.js';
import { ShopIdentityStore } from './settlement/storage/shop-identity.store.js';
import { PaymentUnsupportedDataSourceError } from './database/database.errors.js';

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
  shared(NamedBillStore),
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
