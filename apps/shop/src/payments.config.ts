import { registerAs } from '@nestjs/config';
import { paymentAcceptanceOptionsFromEnv, type PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
import { isProduction } from './production.js';

/** The sandbox's two shops: the default while nothing else is configured, never in production. */
function sandboxShops(): NodeJS.ProcessEnv {
  return {
    PAYMENT_ACCEPTANCE_SHOPS: 'main,eu',
    PAYMENT_ACCEPTANCE_API_BASE_URL: process.env.SANDBOX_URL || `http://127.0.0.1:${process.env.SANDBOX_PORT || 4010}`,
    PAYMENT_ACCEPTANCE_MAIN_SHOP_ID: process.env.PAYMENT_ACCEPTANCE_SHOP_ID || 'demo-main',
    PAYMENT_ACCEPTANCE_MAIN_API_TOKEN:
      process.env.PAYMENT_ACCEPTANCE_API_TOKEN || 'sandbox-main-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_SHOP_ID: 'demo-eu',
    PAYMENT_ACCEPTANCE_EU_API_TOKEN: 'sandbox-eu-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_CURRENCY: 'EUR',
  };
}

/**
 * `PAYMENT_CHECK_PAUSES_MS=2000,4000,20000` sets the pauses between the checks of an open bill. It also shortens requests
 * and all other retries, and with the requests the leases of processes that died. For tests: a real service would be
 * polled too often.
 */
function shortenTimings(pauses: string | undefined): Partial<PaymentAcceptanceOptions> {
  if (!pauses) return {};
  return {
    http: { totalTimeoutMs: 4_000, attempts: 2 },
    schedule: { openMs: pauses.split(',').map(Number), lagMs: [1_000, 3_000], retryCapMs: 4_000 },
    deliveries: { timeoutMs: 4_000, retryCapMs: 2_000 },
  };
}

/** The environment's `PAYMENT_ACCEPTANCE_…` variables. */
export const paymentsConfig = registerAs('payments', () => ({
  // main.ts ends the process soon afterwards.
  shutdownTimeoutMs: 5_000,
  ...paymentAcceptanceOptionsFromEnv({
    ...(isProduction() ? {} : sandboxShops()),
    ...process.env,
  }),
  ...shortenTimings(process.env.PAYMENT_CHECK_PAUSES_MS),
}));
