import { Secret } from '../common/secret.js';
import { isRecord } from '../common/objects.js';
import { SHOP_RULES } from './option-rules.js';
import { copyOf, readOptions, valueOf } from './read-options.js';
import type { Shop } from './resolved-options.js';
import type { PaymentShopOptions } from './service-options.js';

const MIN_TOKEN_LENGTH = 16;
const SHOP_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** A usable shop, or what is wrong with it. Each sentence starts with the path of the option. */
export interface ShopResolution {
  readonly shop: Shop | undefined;
  readonly problems: readonly string[];
  /** Allowed but unwise settings. */
  readonly warnings: readonly string[];
}

export function isShopName(name: unknown): name is string {
  return typeof name === 'string' && SHOP_NAME_PATTERN.test(name);
}

/**
 * Checks a shop's settings, from the options or the resolver, and fills in the defaults.
 * @param isRow whether a resolver gave them: its row may have other columns
 */
export function resolveShop(name: string, rawSettings: unknown, production: boolean, isRow = false): ShopResolution {
  const problems: string[] = [];
  const warnings: string[] = [];
  const path = `shops.${name}`;
  if (!SHOP_NAME_PATTERN.test(name)) {
    problems.push(`${path}: a shop's name must be 1 to 40 letters, digits, "-" or "_", because it is part of routes.`);
  }
  if (!isRecord(rawSettings)) {
    problems.push(`${path}: must be an object with shopId, apiToken and apiBaseUrl.`);
    return { shop: undefined, problems, warnings };
  }
  // A row has null for options that are not set.
  const knownSettings = Object.fromEntries(
    Object.keys(SHOP_RULES).map((option) => {
      const value = valueOf(rawSettings, option, { path: `${path}.${option}`, problems });
      return [option, value ?? undefined];
    }),
  );
  const place = { path, production, allowSandbox: knownSettings.allowSandbox === true, problems };
  const others = isRow ? {} : copyOf(rawSettings, { path, problems });
  const settings = readOptions<PaymentShopOptions>(SHOP_RULES, { ...others, ...knownSettings }, place);
  if (problems.length > 0) return { shop: undefined, problems, warnings };
  const { apiToken, previousApiTokens, apiBaseUrl, shopId, currency, payerPaysCommission, timeZone } = settings;
  for (const [option, tokens] of Object.entries({ apiToken: [apiToken], previousApiTokens })) {
    if (tokens.every(({ length }) => length >= MIN_TOKEN_LENGTH)) continue;
    warnings.push(`${path}.${option}: has fewer than ${MIN_TOKEN_LENGTH} characters and can be guessed.`);
  }
  const shop: Shop = {
    name,
    shopId,
    token: new Secret(apiToken),
    previousTokens: previousApiTokens.map((token) => new Secret(token)),
    // Two spellings of an address are one shop of the service.
    apiBaseUrl: new URL(apiBaseUrl).href.replace(/\/+$/, ''),
    currency,
    payerPaysCommission,
    timeZone,
    requestsPerSecond: settings.requestsPerSecond,
  };
  return { shop, problems, warnings };
}
