export { PaymentConsoleModule } from './payment-console.module.js';
export type { ConsoleRequest, PaymentConsoleOptions } from './common/options.js';
