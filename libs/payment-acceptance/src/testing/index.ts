export {
  PaymentTesting,
  startPaymentTesting,
  type ModuleBuilder,
  type PaymentTestingOptions,
} from './payment-testing.js';
export type { AttachOptions } from './attached-host.js';
export type { CallbackUrls } from './tested-shops.js';
export type { PaidPage, PayOptions, PayOutcome } from './payer.js';
export { PaymentTestingError } from './testing.errors.js';

export { paymentEvent, type EventData } from '../domain/payment-events.js';
export { ManualPaymentClock, PaymentClock } from '../common/clock.js';
export { PaymentProbe } from '../common/probe.js';
export { PaymentRandom } from '../common/random.js';
