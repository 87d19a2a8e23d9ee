export { PaymentAcceptanceModule } from './payment-acceptance.module.js';
export { PaymentAcceptanceService } from './module/payment-acceptance.service.js';
export { PaymentShop } from './module/payment-shop.js';
export {
  PaymentExceptionFilter,
  paymentHttpException,
  PaymentHttpException,
} from './module/payment-exception.filter.js';
export { PaymentWorkers, type PaymentWorker } from './module/payment-workers.js';

export { getPaymentShopToken, InjectPaymentShop } from './module/payment-acceptance.module-definition.js';
export { paymentAcceptanceConfig, paymentAcceptanceOptionsFromEnv } from './config/environment.js';
export { PaymentConfigurationError, PaymentUnknownShopError } from './config/configuration.error.js';
export * from './config/shop.errors.js';
export type { PaymentAcceptanceOptions } from './config/options.js';
export type { PaymentShopOptions, PaymentShopResolver } from './config/service-options.js';
export type { PaymentAcceptanceExtras, PaymentRoutesOptions } from './config/extras.js';
export type { PaymentResult, PaymentResultRenderer } from './config/hooks.js';
export type { PaymentShopSettings } from './config/resolved-options.js';

export type { CreateBillRequest } from './bills/bill-request.js';
export type { PaymentBill } from './bills/payment-bill.js';
export * from './bills/bill.errors.js';
export type { BillRecord, BillState } from './domain/bill.js';
export type { BillId, IntentId, OrderId, PaymentId } from './domain/ids.js';

export * from './client/service.errors.js';

export {
  BillExpiredEvent,
  PAYMENT_EVENT_NAMES,
  PaymentEvent,
  PaymentFailedEvent,
  PaymentOutcomeEvent,
  PaymentReviewEvent,
  PaymentSucceededEvent,
  type PaymentEventMap,
  type PaymentEventName,
} from './domain/payment-events.js';
export {
  OnBillExpired,
  OnPaymentEvent,
  OnPaymentFailed,
  OnPaymentReview,
  OnPaymentSucceeded,
  type PaymentHandlerDecorator,
  type PaymentHandlerOptions,
} from './events/handler.decorators.js';
export type { PaymentDeliveryContext, PaymentEventContext } from './events/consumer.js';
export { PaymentNonRetryableError, PaymentOrderNotFoundError } from './events/consumer.errors.js';
export { requireOrder } from './events/require-order.js';

export { defaultJudge, judgePayment } from './domain/judge.js';
export type { Judge, JudgedBill, PaymentStatus, ReportedPayment, ReviewReason, Verdict } from './domain/payment.js';

export { migratePaymentAcceptance } from './database/migrate.js';
export {
  PaymentPoolExhaustedError,
  PaymentDatabaseError,
  PaymentReadOnlyDatabaseError,
  PaymentStatementTimeoutError,
  PaymentTransactionsError,
} from './database/database.errors.js';
export type { PaymentStorageOptions } from './database/storage-options.js';
export type { TypeOrmDataSource } from './database/typeorm-source.js';
export type { PaymentTransactions, PaymentTransactionsPool, Scalar } from './database/payment-transactions.js';

export { PaymentAcceptanceError } from './common/errors.js';
export { compareAmounts, parseAmount, subtractAmounts, type DecimalAmount } from './domain/money.js';
