import { registerAs } from '@nestjs/config';
import { PaymentLogger } from '../common/payment-logger.js';
import { conceal } from '../common/secret.js';
import { PaymentConfigurationError } from './configuration.error.js';
import type { OptionGroup, OptionRule, OptionRules } from './option-rule.js';
import { itemsOf, OPTION_RULES, SHOP_RULES } from './option-rules.js';
import type { PaymentAcceptanceOptions } from './options.js';
import type { PaymentShopOptions } from './service-options.js';

const PREFIX = 'PAYMENT_ACCEPTANCE_';

/**
 * Reads the options from environment variables.
 *
 * One shop, named `main`: `PAYMENT_ACCEPTANCE_API_BASE_URL`, `PAYMENT_ACCEPTANCE_API_TOKEN`,
 * `PAYMENT_ACCEPTANCE_SHOP_ID`. Several: `PAYMENT_ACCEPTANCE_SHOPS=main,eu`, then `PAYMENT_ACCEPTANCE_EU_API_TOKEN` and
 * so on (`-` becomes `_`). An option that a shop does not set falls back to the variable without the shop's name,
 * except for tokens.
 *
 * Every option of a shop has a variable, for example `TIME_ZONE` or `PREVIOUS_API_TOKENS` (comma-separated). So does
 * every option of the module that is in no group and is a text, a number, or `true` or `false` (also `1` or `0`), for
 * example `PAYMENT_ACCEPTANCE_PUBLIC_URL`.
 *
 * Logs the names of variables that begin with `PAYMENT_ACCEPTANCE_` and have no effect.
 *
 * @throws PaymentConfigurationError naming every variable that is missing or cannot be read.
 */
export function paymentAcceptanceOptionsFromEnv(
  env: NodeJS.ProcessEnv = process.env,
): PaymentAcceptanceOptions & Required<Pick<PaymentAcceptanceOptions, 'shops'>> {
  const problems: string[] = [];
  const named = env[`${PREFIX}SHOPS`];
  const names = named === undefined ? [] : itemsOf(named);
  if (named !== undefined && names.length === 0)
    problems.push(`${PREFIX}SHOPS: lists no shop. Set it to a list such as main,eu.`);
  const duplicates = names.filter((name, index) => names.findIndex((other) => upper(other) === upper(name)) < index);
  if (duplicates.length > 0)
    problems.push(
      `${PREFIX}SHOPS: ${duplicates.join(', ')} would read the variables of another shop. Rename one of the two.`,
    );

  const shops = (names.length > 0 ? names : ['main']).map((name) => {
    const prefix = names.length > 0 ? `${PREFIX}${upper(name)}_` : PREFIX;
    const shop = readVariables<PaymentShopOptions>(SHOP_RULES, (option, rule) => {
      const text = env[prefix + option] || (rule.secret ? undefined : env[PREFIX + option]) || undefined;
      return valueOf(`${prefix}${option} (shop "${name}")`, text, rule, problems);
    });
    // The host's configuration keeps these objects in memory as long as the process runs.
    return [name, conceal(shop, 'apiToken', 'previousApiTokens')];
  });
  const options = readVariables<PaymentAcceptanceOptions>(OPTION_RULES, (option, rule) =>
    valueOf(PREFIX + option, env[PREFIX + option] || undefined, rule, problems),
  );
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  warnOfMistyped(env);
  return { ...options, shops: Object.fromEntries(shops) as Record<string, PaymentShopOptions> };
}

/** Logged once, since a host may read the environment several times. */
const mistyped = new Set<string>();

function warnOfMistyped(env: NodeJS.ProcessEnv): void {
  const endings = ['SHOPS', ...optionsOf(SHOP_RULES), ...optionsOf(OPTION_RULES)].map((option) => `_${option}`);
  const isMistyped = (variable: string): boolean =>
    variable.startsWith(PREFIX) && !endings.some((ending) => variable.endsWith(ending)) && !mistyped.has(variable);
  const found = Object.keys(env).filter(isMistyped).sort();
  if (found.length === 0) return;
  for (const variable of found) mistyped.add(variable);
  const line = `These variables are ignored, because their names end in that of no option: ${found.join(', ')}.`;
  new PaymentLogger('PaymentAcceptance').write('configuration-warning', line);
}

/** Reads the option `schema` alone, so that no shop has to be configured. */
export function schemaFromEnv(env: NodeJS.ProcessEnv): string | undefined {
  return env[`${PREFIX}SCHEMA`] || undefined;
}

/** Reads each option that a variable can set; `read` gets the variable's name without its prefix. */
function readVariables<T>(rules: OptionRules<T>, read: (option: string, rule: OptionRule<unknown>) => unknown): T {
  const values = Object.entries<OptionRule<unknown> | OptionGroup<unknown>>(rules).flatMap(([name, rule]) =>
    'problem' in rule && rule.fromText ? [[name, read(variableOf(name), rule)]] : [],
  );
  return Object.fromEntries(values) as T;
}

/** As variables name them. */
function optionsOf(rules: object): string[] {
  return Object.keys(rules).map(variableOf);
}

function variableOf(option: string): string {
  return upper(option.replaceAll(/[A-Z]/g, '-$&'));
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
