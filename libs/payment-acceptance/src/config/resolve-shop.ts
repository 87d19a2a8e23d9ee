import { Secret } from '../common/secret.js';
import type { Shop } from './resolved-options.js';
import type { PaymentShopOptions } from './service-options.js';
import { addressFlaw, shopIdFlaw, tokenFlaw } from './shop-flaws.js';
import { isTimeZone } from './time-zone.js';

const SHORT_TOKEN = 16;
const SHOP_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;
const CURRENCY = /^[A-Z]{3}$/;

/** A shop that can be used, or what is wrong with it; each sentence starts with the shop's name and option. */
export interface ShopResolution {
  readonly shop: Shop | undefined;
  readonly problems: readonly string[];
  /** What is allowed but unwise. */
  readonly warnings: readonly string[];
}

export function isShopName(name: unknown): name is string {
  return typeof name === 'string' && SHOP_NAME.test(name);
}

/** Checks a shop's settings, wherever they come from, and fills in the defaults. */
export function resolveShop(name: string, given: unknown, production: boolean): ShopResolution {
  const problems: string[] = [];
  const warnings: string[] = [];
  const report = (option: keyof PaymentShopOptions, sentence: string): void => {
    problems.push(`shops.${name}.${option}: ${sentence}`);
  };
  if (!SHOP_NAME.test(name)) {
    problems.push(`shops.${name}: a shop's name has 1 to 40 letters, digits, "-" or "_", as it stands in routes.`);
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    problems.push(`shops.${name}: must be an object with shopId, apiToken and apiBaseUrl.`);
    return { shop: undefined, problems, warnings };
  }
  const options = given as PaymentShopOptions;
  const shopId = shopIdFlaw(options.shopId);
  if (shopId) report('shopId', shopId);
  const previous = options.previousApiTokens ?? [];
  const tokens: [keyof PaymentShopOptions, unknown][] = [['apiToken', options.apiToken]];
  if (!Array.isArray(previous)) report('previousApiTokens', 'must be an array of tokens.');
  else tokens.push(...previous.map((token): [keyof PaymentShopOptions, unknown] => ['previousApiTokens', token]));
  for (const [option, token] of tokens) {
    const flaw = tokenFlaw(token, production);
    if (flaw) report(option, flaw);
    else if ((token as string).length < SHORT_TOKEN) {
      warnings.push(`shops.${name}.${option}: has fewer than ${SHORT_TOKEN} characters; it can be guessed.`);
    }
  }
  const address = addressFlaw(options.apiBaseUrl, production);
  if (address) report('apiBaseUrl', address);
  const currency = options.currency ?? 'RUB';
  if (!CURRENCY.test(currency)) report('currency', 'must be three capital letters, such as RUB.');
  const payerPaysCommission = options.payerPaysCommission ?? false;
  if (typeof payerPaysCommission !== 'boolean') report('payerPaysCommission', 'must be true or false.');
  const timeZone = options.timeZone ?? 'UTC';
  if (!isTimeZone(timeZone)) report('timeZone', 'must be an IANA name (Europe/Berlin) or an offset (+03:00).');
  const requestsPerSecond = options.requestsPerSecond ?? 1000;
  if (!Number.isInteger(requestsPerSecond) || requestsPerSecond < 1 || requestsPerSecond > 1000) {
    report('requestsPerSecond', 'must be a whole number from 1 to 1000.');
  }
  if (problems.length > 0) return { shop: undefined, problems, warnings };
  const shop: Shop = {
    name,
    shopId: options.shopId,
    token: new Secret(options.apiToken),
    previousTokens: previous.map((token) => new Secret(token)),
    apiBaseUrl: options.apiBaseUrl.replace(/\/+$/, ''),
    currency,
    payerPaysCommission,
    timeZone,
    requestsPerSecond,
  };
  return { shop, problems, warnings };
}
