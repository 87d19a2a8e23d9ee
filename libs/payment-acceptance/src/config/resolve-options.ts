import { DEFAULT_SCHEMA, isSchemaName, SCHEMA_NAME_RULE } from '../common/schema-name.js';
import { PaymentConfigurationError } from './configuration.error.js';
import { DEFAULTS, STATEMENT_TIMEOUT_MS } from './defaults.js';
import type { PaymentAcceptanceOptions } from './options.js';
import { publicUrlFlaw } from './public-url.js';
import { isShopName, resolveShop } from './resolve-shop.js';
import type { ResolvedOptions, Shop } from './resolved-options.js';
import { sharedTokenFlaw, TokenOwners } from './token-owners.js';

/** Node's timers end here: about 24 days in milliseconds. Schedules and ages are the database's, and may be longer. */
const MAX_INTEGER = 2 ** 31 - 1;
const MAX_SCHEDULE_STEPS = 10 * 366 * 24 * 3_600_000;
/** A shop's tokens may change with the resolver's next answer, so their number has a bound that the leases know. */
const MAX_TOKENS = 3;
/** Older than this, a connection may meet the end of what servers allow one that is silent. */
const MAX_OPEN_AHEAD_MS = 10_000;
const MAX_INQUIRIES_PER_HOUR = 3_600;
const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w-]+=[\w-]+)*$/;

/**
 * Checks the options and fills in the defaults.
 * @throws PaymentConfigurationError naming every unusable option and its shop.
 */
export function resolveOptions(options: PaymentAcceptanceOptions, environment: string | undefined): ResolvedOptions {
  // `set NODE_ENV=production && node …` on Windows leaves a space behind it.
  const production = environment?.trim().toLowerCase() === 'production';
  const problems: string[] = [];
  const warnings: string[] = [];
  const given: Partial<PaymentAcceptanceOptions> = isRecord(options) ? options : {};
  const shops = new Map<string, Shop>();
  const entries = isRecord(given.shops) ? Object.entries(given.shops) : [];
  const { shopResolver } = given;
  if (shopResolver !== undefined && !isResolver(shopResolver)) {
    problems.push('shopResolver: must have the methods find(name) and list().');
  } else if (entries.length === 0 && !shopResolver) {
    problems.push('shops: name at least one shop, as in { shops: { main: { … } } }.');
  }
  const owners = new TokenOwners();
  for (const [name, settings] of entries) {
    const { shop, ...said } = resolveShop(name, settings, production);
    problems.push(...said.problems);
    warnings.push(...said.warnings);
    if (!shop) continue;
    shops.set(name, shop);
    const other = owners.register(shop);
    // A warning only: the specification does not say that tokens differ.
    if (other !== undefined) warnings.push(sharedTokenFlaw(name, other));
  }

  /** A request is made with each token of a shop in turn, until one is not refused. */
  const tokens = Math.max(
    shopResolver ? MAX_TOKENS : 1,
    ...[...shops.values()].map(({ previousTokens }) => previousTokens.length + 1),
  );
  const groups = {
    shopLookup: fill('shopLookup', DEFAULTS.shopLookup, given.shopLookup, problems),
    http: fill('http', DEFAULTS.http, given.http, problems),
    schedule: fill('schedule', DEFAULTS.schedule, given.schedule, problems),
    confirmer: fill('confirmer', DEFAULTS.confirmer, given.confirmer, problems),
    deliveries: fill('deliveries', DEFAULTS.deliveries, given.deliveries, problems),
    callbacks: fill('callbacks', DEFAULTS.callbacks, given.callbacks, problems),
    creation: fill('creation', DEFAULTS.creation, given.creation, problems),
    retention:
      given.retention === false ? (false as const) : fill('retention', DEFAULTS.retention, given.retention, problems),
  };
  const once = groups.http.totalTimeoutMs * tokens;
  const longest = { confirmer: once, creation: groups.http.attempts * (once + groups.http.retryCapMs) };
  for (const group of ['confirmer', 'creation'] as const) {
    const { leaseMs } = groups[group];
    if (leaseMs > longest[group]) continue;
    // What was not asked for follows what was; what was asked for and cannot be right is said.
    if (given[group]?.leaseMs === undefined) Object.assign(groups[group], { leaseMs: 2 * longest[group] });
    else problems.push(`${group}.leaseMs: ${leaseMs} ms is not longer than a request may take (${longest[group]} ms).`);
  }
  for (const name of ['beforeRequest', 'afterResponse'] as const) {
    const hook: unknown = isRecord(groups.http.hooks) ? groups.http.hooks[name] : null;
    if (hook !== undefined && typeof hook !== 'function') problems.push(`http.hooks.${name}: must be a function.`);
  }
  for (const name of ['judge', 'resultPage'] as const) {
    if (given[name] !== undefined && typeof given[name] !== 'function') problems.push(`${name}: must be a function.`);
  }
  if (!CONTENT_TYPE.test(groups.callbacks.replyContentType)) {
    problems.push('callbacks.replyContentType: must be a media type such as application/json.');
  }
  const publicUrl = given.publicUrl?.toString().replace(/\/+$/, '');
  const publicFlaw = given.publicUrl === undefined ? undefined : publicUrlFlaw(given.publicUrl, production);
  if (publicFlaw) problems.push(`publicUrl: ${publicFlaw}`);
  const migrations = given.migrations ?? (production ? 'verify' : 'run');
  const schema = given.schema ?? DEFAULT_SCHEMA;
  if (!isSchemaName(schema)) problems.push(`schema: ${SCHEMA_NAME_RULE}`);
  const statementTimeoutMs = given.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  if (!Number.isInteger(statementTimeoutMs) || statementTimeoutMs <= 0) {
    problems.push('statementTimeoutMs: must be a whole number above 0.');
  }
  const wakeUps = given.wakeUps ?? 'listen';
  if (!['listen', 'poll'].includes(wakeUps)) problems.push('wakeUps: must be "listen" or "poll".');
  const autoStart = given.autoStart ?? true;
  if (typeof autoStart !== 'boolean') problems.push('autoStart: must be true or false.');
  if (!['run', 'verify'].includes(migrations)) problems.push('migrations: must be "run" or "verify".');

  const defaultShop = given.defaultShop ?? (entries.length === 1 ? entries[0]?.[0] : undefined) ?? 'main';
  const mayExist = entries.some(([name]) => name === defaultShop) || (shopResolver && isShopName(defaultShop));
  if (!mayExist && (entries.length > 0 || shopResolver)) {
    problems.push(
      given.defaultShop === undefined
        ? 'defaultShop: with several shops, name the default one (or call one of them "main").'
        : `defaultShop: there is no shop "${given.defaultShop}" in the option "shops".`,
    );
  }
  if (problems.length > 0) throw new PaymentConfigurationError(problems);
  const { judge, resultPage } = given;
  return {
    shops,
    shopResolver,
    defaultShop,
    tokensPerRequest: tokens,
    ...groups,
    publicUrl,
    judge,
    resultPage,
    migrations,
    schema,
    statementTimeoutMs,
    wakeUps,
    autoStart,
    production,
    warnings,
  };
}

function isResolver(value: unknown): boolean {
  const { find, list } = (value ?? {}) as Record<string, unknown>;
  return typeof find === 'function' && typeof list === 'function';
}

/** Defaults under what was given, each value of the kind and sign that its default has; unknown names are refused. */
function fill<T extends object>(group: string, defaults: T, given: unknown, problems: string[]): T {
  if (given === undefined) return { ...defaults };
  if (!isRecord(given)) {
    problems.push(`${group}: must be an object.`);
    return defaults;
  }
  const filled: Record<string, unknown> = Object.fromEntries(Object.entries(defaults));
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const most = mostOf(name);
    if (!Object.hasOwn(defaults, name)) problems.push(`${group}.${name}: there is no such option.`);
    else if (most !== undefined) {
      if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > most) {
        problems.push(`${group}.${name}: must be a whole number from 0 to ${most}.`);
      } else filled[name] = value;
    } else if (name.endsWith('AfterMs')) {
      if (value !== null && !isLike(1, value, MAX_SCHEDULE_STEPS)) {
        problems.push(`${group}.${name}: must be a whole number above 0, or null to keep for ever.`);
      } else filled[name] = value;
    } else if (!isLike(filled[name], value, group === 'schedule' ? MAX_SCHEDULE_STEPS : MAX_INTEGER))
      problems.push(`${group}.${name}: ${expectation(filled[name])}`);
    else filled[name] = value;
  }
  return filled as T;
}

/** Of an option that may be 0. */
function mostOf(name: string): number | undefined {
  if (name === 'openAheadMs') return MAX_OPEN_AHEAD_MS;
  if (name === 'inquiriesPerHour') return MAX_INQUIRIES_PER_HOUR;
  return name.endsWith('Percent') ? 100 : undefined;
}

/** No default stands for a function. */
function isLike(model: unknown, value: unknown, most: number): boolean {
  if (model === undefined) return typeof value === 'function';
  if (Array.isArray(model))
    return Array.isArray(value) && value.length > 0 && value.every((item) => isLike(1, item, most));
  if (typeof model === 'number')
    return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= most;
  return typeof value === typeof model;
}

function expectation(model: unknown): string {
  if (model === undefined) return 'must be a function.';
  if (Array.isArray(model)) return 'must be a non-empty array of whole numbers above 0.';
  return typeof model === 'number' ? 'must be a whole number above 0.' : `must be a ${typeof model}.`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
