export { type Redirect, signatureOf } from './callbacks/messages.js';
export type { CheckedAddress, ShopCheck } from './callbacks/shop-check.service.js';
export { SandboxError } from './common/errors.js';
export type { Clock, Duration } from './common/time.js';
export { demoShops } from './console/first-shops.js';
export { PaymentSandbox } from './console/payment-sandbox.js';
export type { BillView, PayInput, PayResult, ReplayInput } from './console/payment-sandbox.js';
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
export type { LogLine, PaymentSandboxOptions, ShopInput } from './model/options.js';
export { PaymentSandboxModule } from './payment-sandbox.module.js';
export { TEST_CARDS, type TestCard } from './payments/test-cards.js';
export { type RunningSandbox, startPaymentSandbox, type StartOptions } from './start-payment-sandbox.js';
export type { AnswerHold, ApiOperation, ApiRequest, ReceivedRequest } from './storage/request-log.js';
