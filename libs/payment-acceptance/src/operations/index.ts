export { PaymentOperations, type KnownShop, type PaymentAttachBillOptions } from './payment-operations.service.js';
export type { PaymentOperatorOptions } from './operator-options.js';
export type { PaymentErasureOptions } from './erasure.js';
export type { PaymentTakeInOptions } from './lost-bills.js';
export type { PaymentWorkload } from '../health/workload.js';
export type { CheckWorkload } from '../client/check-requests.js';
export type { DeliveryWorkload } from '../events/delivery.worker.js';
export type { DroppedCounts } from '../callbacks/dropped-callbacks.js';

export { PaymentReviews, type PaymentAcceptReviewOptions } from './payment-reviews.service.js';

export { PaymentRecords } from './payment-records.service.js';
export { BILL_STATES } from '../domain/bill.js';
export type * from './records.js';
export type * from '../health/statistics.js';
export type { CallbackKind, DigestCheck } from '../domain/callback.js';
export type { DeliveryId } from '../domain/ids.js';

export { PaymentChecks, type BillCheck, type ShopChecks } from './payment-checks.service.js';
export {
  PaymentHealthIndicator,
  type PaymentDegradation,
  type PaymentHealth,
  type PaymentHealthThresholds,
} from '../health/payment-health.indicator.js';
export type { WorkerState } from '../common/leased-worker.js';
export {
  PaymentReconciliation,
  type PaymentReconciliationOptions,
  type ShopReconciliation,
} from './payment-reconciliation.service.js';
export type { ReconciledPayment, ReconciliationDifference, StatementComparison } from './reconciliation.js';
export type { StatementPayment } from './statement.js';
export { PaymentDoctor, type DoctorFinding, type DoctorVerdict, type ShopDoctor } from './payment-doctor.service.js';
export type { BillToImport } from './bill-to-import.js';
export {
  PaymentImport,
  type PaymentImportOptions,
  type ImportReport,
  type LogImportReport,
  type LoggedBill,
  type RefusedBill,
  type ShopImport,
} from './payment-import.service.js';
export {
  PaymentRecovery,
  type PaymentRecoveryOptions,
  type RecoveryReport,
  type ShopRecovery,
} from './payment-recovery.service.js';
export type { RecoveredBill } from './recovery.js';

export {
  PaymentActionInterruptedError,
  PaymentOperatorActionError,
  PaymentReconciliationIncompleteError,
} from './operator.errors.js';
export { describeError as describePaymentError } from '../common/errors.js';
export { PaymentHandlerError } from '../events/consumer.errors.js';
export { PaymentJudgeError } from '../settlement/judge.error.js';
export { PaymentSchemaBehindError, PaymentUnsupportedDataSourceError } from '../database/database.errors.js';
