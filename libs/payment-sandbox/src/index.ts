export type { ReceivedRequest } from './storage/received-requests.js';
export type { AnswerHold, ApiOperation, ApiRequest } from './storage/request-log.js';
export type { Redirect } from './callbacks/redirect.js';
export type { CheckedAddress, ShopCheck } from './callbacks/shop-check.service.js';
export { signatureOf } from './callbacks/signature.js';
export type { Clock } from './common/clock.js';
export type { Duration } from './common/duration.js';
export { SandboxError } from './common/errors.js';
export { demoShops } from './console/demo-shops.js';
export { PaymentSandbox } from './console/payment-sandbox.js';
export type { BillView, PayInput, PayResult, ReplayInput } from './console/pay-input.js';
export type {
  Amount,
  Bill,
  BillAddresses,
  Callback,
  CallbackTry,
  Currency,
  Instant,
  Payment,
  PaymentStatus,
  PlannedStatus,
  Shop,
  ShopSettings,
  Visit,
} from './model/entities.js';
export type {
  FaultDocument,
  FaultSettings,
  PostbackFault,
  PostbackFaultSettings,
  RequestFault,
  RequestFaultSettings,
} from './model/fault-document.js';
export type { LogLine } from './model/log-line.js';
export type { PaymentSandboxOptions, ShopInput } from './model/options.js';
export { PaymentSandboxModule } from './payment-sandbox.module.js';
export { TEST_CARDS, type TestCard } from './payments/test-cards.js';
export { type RunningSandbox, startPaymentSandbox, type StartOptions } from './start-payment-sandbox.js';
