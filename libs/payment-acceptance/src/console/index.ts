export { PaymentConsoleModule } from './payment-console.module.js';
export type { ConsoleRequest, PaymentConsoleOptions } from './options.js';
