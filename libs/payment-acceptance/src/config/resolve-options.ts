import { CONSTANTS, DEFAULT_CONSTANTS, type Constants, type ConstantOverrides } from './constants.js';
import { PaymentConfigurationError } from './configuration.error.js';
import { isRecord } from '../common/objects.js';
import { conceal } from '../common/secret.js';
import { OPTION_RULES } from './option-rules.js';
import type { PaymentAcceptanceOptions } from './options.js';
import { copyOf, readOptions, valueOf } from './read-options.js';
import { isShopName, resolveShop } from './resolve-shop.js';
import type { FilledOptions, ResolvedOptions, Shop } from './resolved-options.js';
import { sharedTokenProblem, TokenOwners } from './token-owners.js';

/** The resolver may return more tokens at any time; this bound lets the lease durations be fixed at start. */
const MAX_TOKENS = 3;

/** @throws PaymentConfigurationError naming every invalid option and its shop */
export function resolveOptions(options: PaymentAcceptanceOptions, environment: string | undefined): ResolvedOptions {
  // On Windows, `set NODE_ENV=production && node …` leaves a trailing space.
  const production = environment?.trim().toLowerCase() === 'production';
  const hostOptions: Partial<PaymentAcceptanceOptions> = isRecord(options) ? options : {};
  const problems: string[] = [];
  const warnings: string[] = [];
  const read = readOptions(OPTION_RULES, hostOptions, { path: '', production, problems }) as FilledOptions;
  const filled = { ...read, shops: copyOf(read.shops, { path: 'shops', problems }) as FilledOptions['shops'] };
  const shops = resolveShops(filled, production, problems, warnings);
  const defaultShop = chooseDefaultShop(filled, problems);
  const constants = constantsOf(hostOptions);
  const http = { ...filled.http, ...constants.http };
  // A refused request is repeated with the shop's next token, so a lease must outlast the requests with all tokens.
  const tokensPerRequest = Math.max(
    filled.shopResolver ? MAX_TOKENS : 1,
    ...[...shops.values()].map(({ previousTokens }) => previousTokens.length + 1),
  );
  const oneTryMs = http.totalTimeoutMs * tokensPerRequest;
  const resolved = {
    ...filled,
    shops,
    defaultShop,
    storage: conceal({ ...filled.storage }, 'url'),
    http,
    shopLookup: constants.shopLookup,
    schedule: { ...filled.schedule, ...constants.schedule },
    deliveries: { ...filled.deliveries, ...constants.deliveries },
    callbacks: { ...filled.callbacks, ...constants.callbacks },
    creation: constants.creation,
    retention: filled.retention && { ...filled.retention, ...constants.retention },
    leases: { checkMs: 2 * oneTryMs, creationMs: 2 * http.attempts * (oneTryMs + http.retryCapMs) },
    tokensPerRequest,
    publicUrl: filled.publicUrl?.replace(/\/+$/, ''),
    migrations: filled.migrations ?? (production ? 'verify' : 'run'),
    production,
    warnings,
  };
  const { url, pool } = filled.storage;
  const storage = valueOf(hostOptions, 'storage', { path: '', problems: [] });
  // An address that is missing in the environment must not lead to another database.
  const isNamed = isRecord(storage) && ('url' in storage || 'pool' in storage);
  if (isNamed && (url === undefined) === (pool === undefined)) problems.push('storage: set either url or pool.');
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  return resolved;
}

function constantsOf(options: object): Constants {
  const place = { path: '', problems: [] };
  const overrides = (valueOf(options as Record<symbol, unknown>, CONSTANTS, place) ?? {}) as ConstantOverrides;
  const groups = Object.entries(DEFAULT_CONSTANTS) as [keyof Constants, object][];
  return Object.fromEntries(
    groups.map(([name, group]) => [name, { ...group, ...overrides[name] }]),
  ) as unknown as Constants;
}

function resolveShops(
  { shops, shopResolver }: FilledOptions,
  production: boolean,
  problems: string[],
  warnings: string[],
): Map<string, Shop> {
  const entries = Object.entries(shops);
  if (entries.length === 0 && !shopResolver) {
    problems.push('shops: configure at least one shop, as in { shops: { main: { … } } }.');
  }
  const resolved = new Map<string, Shop>();
  const owners = new TokenOwners();
  for (const [name, settings] of entries) {
    const { shop, ...findings } = resolveShop(name, settings, production);
    problems.push(...findings.problems);
    warnings.push(...findings.warnings);
    if (!shop) continue;
    const other = owners.register(shop);
    // Only a warning: the specification does not say that shops have different tokens.
    if (other !== undefined) warnings.push(sharedTokenProblem(name, other));
    const twin = [...resolved.values()].find(
      ({ shopId, apiBaseUrl }) => shopId === shop.shopId && apiBaseUrl === shop.apiBaseUrl,
    );
    if (twin)
      warnings.push(
        `shops.${name}.shopId: this shop and "${twin.name}" are the same shop of the service, and its bills are in one account. Set the id of each.`,
      );
    resolved.set(name, shop);
  }
  return resolved;
}

function chooseDefaultShop({ defaultShop, shops, shopResolver }: FilledOptions, problems: string[]): string {
  const names = Object.keys(shops);
  const chosen = defaultShop ?? (names.length === 1 ? names[0] : undefined) ?? 'main';
  const mayExist = names.includes(chosen) || (shopResolver && isShopName(chosen));
  if (!mayExist && (names.length > 0 || shopResolver)) {
    problems.push(
      defaultShop === undefined
        ? 'defaultShop: with several shops, set the default one (or name one of them "main").'
        : `defaultShop: there is no shop "${defaultShop}" in the option "shops".`,
    );
  }
  return chosen;
}
