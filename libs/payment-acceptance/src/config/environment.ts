import { registerAs } from '@nestjs/config';
import { concealed } from '../common/secret.js';
import { PaymentConfigurationError } from './configuration.error.js';
import type { OptionGroup, OptionRule, OptionRules } from './option-rule.js';
import { itemsOf, OPTION_RULES, SHOP_RULES } from './option-rules.js';
import type { PaymentAcceptanceOptions } from './options.js';
import type { PaymentShopOptions } from './service-options.js';

const PREFIX = 'PAYMENT_ACCEPTANCE_';

/**
 * Reads the options from environment variables.
 *
 * One shop, named `main`: `PAYMENT_ACCEPTANCE_API_BASE_URL`, `PAYMENT_ACCEPTANCE_API_TOKEN`, `PAYMENT_ACCEPTANCE_SHOP_ID`.
 * Several: `PAYMENT_ACCEPTANCE_SHOPS=main,eu`, then `PAYMENT_ACCEPTANCE_EU_API_TOKEN` and so on (`-` becomes `_`); what a
 * shop does not set comes from the variable without the name, tokens excepted. Every option of a shop has its variable, as
 * `TIME_ZONE` or `PREVIOUS_API_TOKENS` (comma-separated), and so have those options of the module that are a text, a
 * number, `true` or `false` (also `1` or `0`) and belong to no group, as `PAYMENT_ACCEPTANCE_PUBLIC_URL`.
 *
 * @throws PaymentConfigurationError naming the variable that is missing or cannot be read.
 */
export function paymentAcceptanceOptionsFromEnv(
  env: NodeJS.ProcessEnv = process.env,
): PaymentAcceptanceOptions & Required<Pick<PaymentAcceptanceOptions, 'shops'>> {
  const problems: string[] = [];
  const named = env[`${PREFIX}SHOPS`];
  const names = named === undefined ? [] : itemsOf(named);
  if (named !== undefined && names.length === 0) problems.push(`${PREFIX}SHOPS: names no shop. Write main,eu.`);
  const twins = names.filter((name, index) => names.findIndex((other) => upper(other) === upper(name)) < index);
  if (twins.length > 0) problems.push(`${PREFIX}SHOPS: ${twins.join(', ')} would read the variables of another shop.`);

  const shops = (names.length > 0 ? names : ['main']).map((name) => {
    const own = names.length > 0 ? `${PREFIX}${upper(name)}_` : PREFIX;
    const shop = readVariables<PaymentShopOptions>(SHOP_RULES, (option, rule) => {
      const text = env[own + option] || (rule.secret ? undefined : env[PREFIX + option]) || undefined;
      return valueOf(`${own}${option} (shop "${name}")`, text, rule, problems);
    });
    // A host's configuration holds them for as long as it runs.
    return [name, concealed(shop, 'apiToken', 'previousApiTokens')];
  });
  const options = readVariables<PaymentAcceptanceOptions>(OPTION_RULES, (option, rule) =>
    valueOf(PREFIX + option, env[PREFIX + option] || undefined, rule, problems),
  );
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  return { ...options, shops: Object.fromEntries(shops) as Record<string, PaymentShopOptions> };
}

/** The option `schema`, which needs no shop beside it. */
export function schemaFromEnv(env: NodeJS.ProcessEnv): string | undefined {
  return env[`${PREFIX}SCHEMA`] || undefined;
}

/** A value for each option that a text can say; `read` is given the end of its variable's name. */
function readVariables<T>(rules: OptionRules<T>, read: (option: string, rule: OptionRule<unknown>) => unknown): T {
  const said = Object.entries<OptionRule<unknown> | OptionGroup<unknown>>(rules).flatMap(([name, rule]) =>
    'flaw' in rule && rule.fromText ? [[name, read(upper(name.replaceAll(/[A-Z]/g, '-$&')), rule)]] : [],
  );
  return Object.fromEntries(said) as T;
}

function valueOf(variable: string, text: string | undefined, rule: OptionRule<unknown>, problems: string[]): unknown {
  const value = text === undefined ? undefined : rule.fromText?.(text);
  if (text === undefined && rule.required) problems.push(`${variable}: is not set. ${rule.required}`);
  if (text !== undefined && value === undefined) problems.push(`${variable}: must be ${rule.takes}.`);
  return value;
}

function upper(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

/** For `ConfigModule.forRoot({ load: [paymentAcceptanceConfig] })`; inject it with `paymentAcceptanceConfig.KEY`. */
export const paymentAcceptanceConfig = registerAs('paymentAcceptance', () => paymentAcceptanceOptionsFromEnv());
