import { registerAs } from '@nestjs/config';
import { concealed } from '../common/secret.js';
import { PaymentConfigurationError } from './configuration.error.js';
import type { PaymentAcceptanceOptions } from './options.js';
import type { PaymentShopOptions } from './service-options.js';

/** Options with shops in them. */
export type EnvironmentOptions = PaymentAcceptanceOptions & Required<Pick<PaymentAcceptanceOptions, 'shops'>>;

const PREFIX = 'PAYMENT_ACCEPTANCE_';
const REMEDIES = {
  API_BASE_URL: 'Set it to the base address of the service, such as https://api.pay.example.',
  API_TOKEN: 'Set it to the API token that the service gave you.',
  SHOP_ID: 'Set it to the shop_id that the service gave you.',
} as const;

/**
 * Reads the options from environment variables.
 *
 * One shop, named `main`: `PAYMENT_ACCEPTANCE_API_BASE_URL`, `PAYMENT_ACCEPTANCE_API_TOKEN`, `PAYMENT_ACCEPTANCE_SHOP_ID`.
 * Several: `PAYMENT_ACCEPTANCE_SHOPS=main,eu`, then `PAYMENT_ACCEPTANCE_EU_API_TOKEN` and so on (`-` becomes `_`); what a
 * shop does not set comes from the variable without the name, tokens excepted. Also read: `CURRENCY`, `TIME_ZONE`,
 * `PAYER_PAYS_COMMISSION` (`true`, `false`, `1`, `0`), `REQUESTS_PER_SECOND`, `PREVIOUS_API_TOKENS` (comma-separated) of each shop, and
 * `PAYMENT_ACCEPTANCE_DEFAULT_SHOP`, `PAYMENT_ACCEPTANCE_PUBLIC_URL` and `PAYMENT_ACCEPTANCE_SCHEMA`.
 *
 * @throws PaymentConfigurationError naming the variable that is missing or cannot be read.
 */
export function paymentAcceptanceOptionsFromEnv(env: NodeJS.ProcessEnv = process.env): EnvironmentOptions {
  const problems: string[] = [];
  const list = (text: string | undefined): string[] =>
    (text ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);
  const names = list(env[`${PREFIX}SHOPS`]);
  const several = names.length > 0;
  if (env[`${PREFIX}SHOPS`] !== undefined && !several) problems.push(`${PREFIX}SHOPS: names no shop. Write main,eu.`);
  const twins = names.filter((name, index) => names.findIndex((other) => variable(other) === variable(name)) < index);
  if (twins.length > 0) problems.push(`${PREFIX}SHOPS: ${twins.join(', ')} would read the variables of another shop.`);

  const shops: Record<string, PaymentShopOptions> = {};
  for (const name of several ? names : ['main']) {
    const own = several ? `${PREFIX}${variable(name)}_` : PREFIX;
    const read = (option: string, secret = false): string | undefined =>
      env[own + option] || (secret ? undefined : env[PREFIX + option]) || undefined;
    const required = (option: keyof typeof REMEDIES, secret = false): string => {
      const value = read(option, secret);
      if (value === undefined) problems.push(`${own}${option} (shop "${name}"): is not set. ${REMEDIES[option]}`);
      return value ?? '';
    };
    const flag = read('PAYER_PAYS_COMMISSION');
    if (flag !== undefined && !/^(true|false|1|0)$/.test(flag)) {
      problems.push(`${own}PAYER_PAYS_COMMISSION (shop "${name}"): must be true, false, 1 or 0.`);
    }
    const rate = read('REQUESTS_PER_SECOND');
    if (rate !== undefined && !/^\d{1,4}$/.test(rate)) {
      problems.push(`${own}REQUESTS_PER_SECOND (shop "${name}"): must be a whole number.`);
    }
    const shop: PaymentShopOptions = {
      apiBaseUrl: required('API_BASE_URL'),
      apiToken: required('API_TOKEN', true),
      shopId: required('SHOP_ID'),
      currency: read('CURRENCY'),
      timeZone: read('TIME_ZONE'),
      requestsPerSecond: rate === undefined ? undefined : Number(rate),
      payerPaysCommission: flag === undefined ? undefined : /^(true|1)$/.test(flag),
      previousApiTokens: list(read('PREVIOUS_API_TOKENS', true)),
    };
    // A host's configuration holds them for as long as it runs.
    shops[name] = concealed(shop, 'apiToken', 'previousApiTokens');
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  return {
    shops,
    defaultShop: env[`${PREFIX}DEFAULT_SHOP`] || undefined,
    publicUrl: env[`${PREFIX}PUBLIC_URL`] || undefined,
    schema: schemaFromEnv(env),
  };
}

/** The option `schema`, which needs no shop beside it. */
export function schemaFromEnv(env: NodeJS.ProcessEnv): string | undefined {
  return env[`${PREFIX}SCHEMA`] || undefined;
}

function variable(shop: string): string {
  return shop.toUpperCase().replaceAll('-', '_');
}

/** For `ConfigModule.forRoot({ load: [paymentAcceptanceConfig] })`; inject it with `paymentAcceptanceConfig.KEY`. */
export const paymentAcceptanceConfig = registerAs('paymentAcceptance', () => paymentAcceptanceOptionsFromEnv());
