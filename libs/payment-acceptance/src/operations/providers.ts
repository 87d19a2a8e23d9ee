import type { FactoryProvider, Provider, Type } from '@nestjs/common';
import type { ShopScope } from '../database/scope.js';
import { OperationsParts } from './operations-parts.js';
import { PaymentChecks } from './payment-checks.service.js';
import { PaymentDoctor } from './payment-doctor.service.js';
import { PaymentImport } from './payment-import.service.js';
import { PaymentOperations } from './payment-operations.service.js';
import { PaymentReconciliation } from './payment-reconciliation.service.js';
import { PaymentRecords } from './payment-records.service.js';
import { PaymentRecovery } from './payment-recovery.service.js';
import { PaymentReviews } from './payment-reviews.service.js';
import { ErasureStore } from './storage/erasure.store.js';
import { DoctorStore } from './storage/doctor.store.js';
import { ImportStore } from './storage/import.store.js';
import { LostBillStore } from './storage/lost-bill.store.js';
import { OperatorStore } from './storage/operator.store.js';
import { PastEventsStore } from './storage/past-events.store.js';
import { ReconciliationStore } from './storage/reconciliation.store.js';
import { BillHistoryStore } from './storage/records/bill-history.store.js';
import { FiguresStore } from './storage/records/figures.store.js';
import { RecordListsStore } from './storage/records/record-lists.store.js';
import { RecoveryStore } from './storage/recovery.store.js';

export const OPERATIONS: readonly Provider[] = [
  ofAllShops(PaymentOperations),
  ofAllShops(PaymentReviews),
  ofAllShops(PaymentRecords),
  OperationsParts,
  PaymentChecks,
  PaymentReconciliation,
  PaymentDoctor,
  PaymentImport,
  PaymentRecovery,
  BillHistoryStore,
  ErasureStore,
  DoctorStore,
  FiguresStore,
  ImportStore,
  LostBillStore,
  OperatorStore,
  PastEventsStore,
  ReconciliationStore,
  RecordListsStore,
  RecoveryStore,
];

function ofAllShops<T>(service: new (parts: OperationsParts, scope: ShopScope) => T): FactoryProvider<T> {
  return {
    provide: service as Type<T>,
    inject: [OperationsParts],
    useFactory: (parts: OperationsParts) => new service(parts, null),
  };
}
