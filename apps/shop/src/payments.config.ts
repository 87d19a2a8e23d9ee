import { registerAs } from '@nestjs/config';
import { paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';

/** The sandbox's two shops: what holds while nothing else is configured, and never in production. */
function sandboxShops(): NodeJS.ProcessEnv {
  return {
    PAYMENT_ACCEPTANCE_SHOPS: 'main,eu',
    PAYMENT_ACCEPTANCE_API_BASE_URL: process.env.SANDBOX_URL || `http://127.0.0.1:${process.env.SANDBOX_PORT || 4010}`,
    PAYMENT_ACCEPTANCE_MAIN_SHOP_ID: 'demo-main',
    PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'sandbox-main-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_SHOP_ID: 'demo-eu',
    PAYMENT_ACCEPTANCE_EU_API_TOKEN: 'sandbox-eu-token-0123456789abcdef',
    PAYMENT_ACCEPTANCE_EU_CURRENCY: 'EUR',
  };
}

/** The environment's `PAYMENT_ACCEPTANCE_…` variables. */
export const paymentsConfig = registerAs('payments', () =>
  paymentAcceptanceOptionsFromEnv({
    ...(process.env.NODE_ENV === 'production' ? {} : sandboxShops()),
    ...process.env,
  }),
);
