export { PaymentAcceptanceModule } from './module/payment-acceptance.module.js';
export { PaymentAcceptanceService } from './module/payment-acceptance.service.js';
export { PaymentShop } from './module/payment-shop.js';

export { getPaymentShopToken, InjectPaymentShop } from './module/tokens.js';
export {
  paymentAcceptanceConfig,
  paymentAcceptanceOptionsFromEnv,
  type EnvironmentOptions,
} from './config/environment.js';
export { PaymentConfigurationError, UnknownShopError } from './config/configuration.error.js';
export * from './config/shop.errors.js';
export type * from './config/options.js';
export type * from './config/service-options.js';
export type * from './config/extras.js';
export type * from './config/hooks.js';
export type { PaymentShopSettings } from './config/resolved-options.js';
export type { CheckScheduleOptions } from './domain/schedule-options.js';

export type { CreateBillRequest } from './bills/bill-request.js';
export type { CreateBillOptions } from './bills/bill.service.js';
export type { PaymentBill } from './bills/payment-bill.js';
export * from './bills/bill.errors.js';
export type { BillRecord, BillState } from './domain/bill.js';
export type { DeliveryState } from './domain/delivery.js';
export type { BillId, DeliveryId, IntentId, OrderId, PaymentId } from './domain/ids.js';

export * from './client/service.errors.js';
export type { RequestControl } from './client/payment-service.client.js';

export * from './domain/payment-events.js';
export {
  OnBillExpired,
  OnPaymentEvent,
  OnPaymentFailed,
  OnPaymentReview,
  OnPaymentSucceeded,
  type PaymentHandlerOptions,
} from './events/handler.decorators.js';
export type { PaymentEventContext } from './events/consumer.js';
export { PaymentHandlerError } from './events/consumer.errors.js';
export { NonRetryableError } from './events/non-retryable.js';
export { OrderNotFoundError } from './events/order-not-found.js';
export { DeliveryWorker } from './events/delivery.worker.js';

export { BillInquiry } from './settlement/bill-inquiry.js';
export { Confirmer } from './settlement/confirmer.js';
export { defaultJudge, judgePayment } from './domain/judge.js';
export type { Judge, JudgedBill, PaymentStatus, ReportedPayment, ReviewReason, Verdict } from './domain/payment.js';

export { redirectSignature } from './callbacks/signature.js';
export { PostbackDto, RedirectDto, type CallbackDto } from './callbacks/callback.dto.js';
export { PaymentCallbacks, type Transmission } from './callbacks/callback.service.js';
export type { CallbackRefusal, PostbackAnswer, RedirectAnswer, ResultAnswer } from './callbacks/callback.answers.js';
export type { DroppedCounts } from './callbacks/dropped-callbacks.js';
export type { FieldError } from './callbacks/parse-body.js';

export type { KnownShop } from './operations/operations-view.js';
export { PaymentReviews } from './operations/payment-reviews.service.js';
export type { AcceptReviewOptions, ReviewsView } from './operations/reviews-view.js';
export { OperatorActionError } from './operations/operator.errors.js';
export type { DeadLetter, DeadLetterFilter } from './storage/dead-letters.js';
export type { PaymentWorkload } from './operations/workload.js';
export type { CheckWorkload } from './settlement/check-requests.js';
export type { DeliveryWorkload } from './events/delivery.worker.js';
export type { FailingConsumer, FailingShop, PaymentStats, ShopState } from './storage/operator.store.js';
export { PaymentOperations } from './operations/payment-operations.service.js';
export type { TakeInOptions } from './operations/lost-bills.js';
export type { LostBill, LostBillPayment } from './storage/lost-bill.store.js';
export type { OperationsView, PastEventsReport } from './operations/operations-view.js';
export type { Released, ReleaseFilter } from './storage/release.js';
export type { PastEventCounts, PastEventFilter } from './storage/past-events.store.js';
export { PaymentChecks, type BillCheck, type ShopChecks } from './operations/payment-checks.service.js';
export {
  PaymentReconciliation,
  type ReconciliationOptions,
  type ShopReconciliation,
} from './operations/payment-reconciliation.service.js';
export type { ReconciledPayment, ReconciliationDifference, StatementComparison } from './operations/reconciliation.js';
export type { StatementPayment } from './operations/statement-payment.js';
export {
  PaymentDoctor,
  type DoctorFinding,
  type DoctorVerdict,
  type ShopDoctor,
} from './operations/payment-doctor.service.js';
export {
  PaymentImport,
  type BillToImport,
  type ImportOptions,
  type ImportReport,
  type RefusedBill,
  type ShopImport,
} from './operations/payment-import.service.js';
export {
  PaymentRecovery,
  type AttachedBill,
  type RecoveryOptions,
  type RecoveryReport,
  type ShopRecovery,
} from './operations/payment-recovery.service.js';
export type { RecoveredBill } from './operations/recovery.js';
export {
  PaymentHealthIndicator,
  type PaymentDegradation,
  type PaymentHealth,
  type PaymentHealthThresholds,
} from './operations/payment-health.indicator.js';
export { RetentionWorker } from './operations/retention.worker.js';
export type {
  LedgerBill,
  LedgerCallback,
  LedgerDelivery,
  LedgerEntry,
  LedgerEvent,
  LedgerReview,
  PaymentLedger,
} from './storage/ledger.store.js';
export { migratePaymentAcceptance, type MigrationOptions } from './storage/migrate.js';
export {
  PoolExhaustedError,
  SchemaBehindError,
  StatementTimeoutError,
  UnsupportedDataSourceError,
} from './storage/storage.errors.js';

export { ManualPaymentClock, PaymentClock } from './common/clock.js';
export type { WorkerState } from './common/leased-worker.js';
export { PaymentProbe } from './common/probe.js';
export { PaymentRandom } from './common/random.js';
export { PaymentAcceptanceError } from './common/errors.js';
export { PaymentJudgeError } from './settlement/judge.error.js';
export { compareAmounts, parseAmount, subtractAmounts, type DecimalAmount } from './domain/money.js';
