import { isRecord } from '../common/objects.js';
import {
  DEFAULT_SCHEMA,
  isSchemaName,
  SCHEMA_NAME_RULE,
  type PaymentStorageOptions,
} from '../database/storage-options.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import {
  callable,
  flag,
  group,
  listOfMilliseconds,
  milliseconds,
  millisecondsOrNull,
  oneOf,
  text,
  wholeNumber,
  type OptionRule,
  type OptionRules,
  listOf,
} from './option-rule.js';
import type { CallbackOptions, PaymentAcceptanceOptions } from './options.js';
import type { PaymentShopOptions, ServiceHttpOptions } from './service-options.js';
import {
  apiAddressProblem,
  publicAddressProblem,
  ADVICE,
  shopIdProblem,
  tokenProblem,
  tokensProblem,
} from './shop-problems.js';
import { isTimeZone } from './time-zone.js';
import type {
  PaymentAcceptanceExtras,
  PaymentRoutesOptions,
  PostbackRoutesOptions,
  RedirectRoutesOptions,
} from './extras.js';

/*
 * One rule for each option: what it accepts, and its default. The option's docstring says what it means. Validation,
 * defaults, environment variables and docs/configuration.md are derived from these rules.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MIB = 1024 * 1024;
/** Schedules and ages live in the database, so Node's timer limit does not apply. */
const TEN_YEARS = 10 * 366 * DAY;
const MEDIA_TYPE_PATTERN = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w-]+=[\w-]+)*$/;

export const SHOP_RULES: OptionRules<PaymentShopOptions> = {
  shopId: { takes: 'text', required: ADVICE.shopId, problem: shopIdProblem, fromText: String },
  apiToken: { takes: 'text', required: ADVICE.apiToken, secret: true, problem: tokenProblem, fromText: String },
  previousApiTokens: {
    takes: 'a list of strings',
    secret: true,
    default: [],
    problem: tokensProblem,
    fromText: itemsOf,
  },
  apiBaseUrl: { takes: 'an address', required: ADVICE.apiBaseUrl, problem: apiAddressProblem, fromText: String },
  allowSandbox: flag(false),
  currency: text('RUB', /^[A-Z]{3}$/, 'three capital letters, such as RUB'),
  payerPaysCommission: flag(false),
  timeZone: {
    takes: 'an IANA name (Europe/Berlin) or an offset (+03:00)',
    default: 'UTC',
    problem: (zone) => (isTimeZone(zone) ? undefined : 'must be an IANA name (Europe/Berlin) or an offset (+03:00).'),
    fromText: String,
  },
  requestsPerSecond: wholeNumber(1_000, { max: 1_000 }),
};

const SCHEDULE: OptionRules<CheckScheduleOptions> = {
  openMs: listOfMilliseconds([MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR], TEN_YEARS),
  lifetimeMs: milliseconds(3 * DAY, TEN_YEARS),
  paidEveryMs: milliseconds(6 * HOUR, TEN_YEARS),
  paidForMs: milliseconds(7 * DAY, TEN_YEARS),
  expiredForMs: milliseconds(30 * DAY, TEN_YEARS),
  retryCapMs: milliseconds(10 * MINUTE, TEN_YEARS),
  lagMs: listOfMilliseconds([3 * SECOND, 10 * SECOND, 30 * SECOND], TEN_YEARS),
};

export const OPTION_RULES: OptionRules<PaymentAcceptanceOptions> = {
  shops: {
    default: {},
    problem: (shops) => (isRecord(shops) ? undefined : 'must be an object that maps names to shops.'),
  },
  shopResolver: {
    problem: (resolver) => (isResolver(resolver) ? undefined : 'must have the methods find(name) and list().'),
  },
  defaultShop: text(),
  http: group<ServiceHttpOptions>({
    totalTimeoutMs: milliseconds(15 * SECOND),
    maxAnswerBytes: wholeNumber(MIB / 2, { unit: 'bytes' }),
    // A creation holds its order for as long as all of them may take.
    attempts: wholeNumber(3, { max: 10 }),
  }),
  publicUrl: { takes: 'an address', problem: publicAddressProblem, fromText: String },
  schedule: group(SCHEDULE),
  checks: group({
    concurrency: wholeNumber(128, { max: 10_000 }),
  }),
  deliveries: group({
    concurrency: wholeNumber(32, { max: 10_000 }),
    timeoutMs: milliseconds(30 * SECOND),
    // At least a day in total: the pauses add up to 48 hours, and jitter may cut them by up to half.
    maxAttempts: wholeNumber(60),
    retryCapMs: milliseconds(HOUR),
  }),
  callbacks: group<CallbackOptions>({
    replyBody: text('OK'),
    replyContentType: text('text/plain; charset=utf-8', MEDIA_TYPE_PATTERN, 'a media type such as application/json'),
    inquiriesPerHour: wholeNumber(90_000, { min: 0, max: 360_000 }),
    requirePostbackDigest: flag(false),
    resultWaitMs: milliseconds(3 * SECOND),
  }),
  retention: group(
    {
      redactCallbacksAfterMs: millisecondsOrNull(30 * DAY, TEN_YEARS),
      deleteCallbacksAfterMs: millisecondsOrNull(90 * DAY, TEN_YEARS),
      redactBillsAfterMs: millisecondsOrNull(null, TEN_YEARS),
    },
    { mayBe: [false] },
  ),
  judge: {
    problem: (judge) =>
      typeof judge === 'function' && judge.constructor.name !== 'AsyncFunction'
        ? undefined
        : 'must be a synchronous function that returns the verdicts: neither async nor returning a promise.',
  },
  storage: group<PaymentStorageOptions>({
    url: {
      takes: 'an address',
      secret: true,
      problem: (url) =>
        typeof url === 'string' && /^(postgres(ql)?|mariadb|mysql):\/\//.test(url) && URL.canParse(url)
          ? undefined
          : 'must be an address that starts with postgres://, mariadb:// or mysql://, with special characters encoded.',
      fromText: String,
    },
    pool: {
      takes: 'a `pg.Pool`, or a pool of `mysql2`',
      problem: (pool) => (isPool(pool) ? undefined : 'must be a pool of pg or mysql2.'),
    },
    connections: wholeNumber(4, { min: 2, max: 1_000 }),
  }),
  transactions: {
    takes: 'an object with `placeholders`, `run` and `query`',
    problem: (layer) =>
      isLayer(layer) ? undefined : 'must have the methods run() and query(), and placeholders: "$1" or "?".',
  },
  handlers: oneOf(['once', 'at-least-once'], 'once'),
  resultPage: callable(),
  migrations: oneOf(['run', 'verify']),
  schema: {
    takes: '1 to 40 lower-case letters, digits and "_", starting with a letter',
    default: DEFAULT_SCHEMA,
    problem: (schema) => (isSchemaName(schema) ? undefined : SCHEMA_NAME_RULE),
    fromText: String,
  },
  statementTimeoutMs: milliseconds(10 * SECOND),
  wakeUps: oneOf(['listen', 'poll'], 'listen'),
  pollMs: milliseconds(5 * SECOND),
  shutdownTimeoutMs: milliseconds(10 * SECOND),
  autoStart: flag(true),
};

export function itemsOf(variable: string): string[] {
  return variable.split(',').flatMap((item) => item.trim() || []);
}

function isPool(value: unknown): boolean {
  const { totalCount, connect, getConnection } = (value ?? {}) as Record<string, unknown>;
  return (typeof connect === 'function' && totalCount !== undefined) || typeof getConnection === 'function';
}

function isLayer(value: unknown): boolean {
  const { placeholders, run, query } = (value ?? {}) as Record<string, unknown>;
  return typeof run === 'function' && typeof query === 'function' && (placeholders === '$1' || placeholders === '?');
}

function isResolver(value: unknown): boolean {
  const { find, list } = (value ?? {}) as Record<string, unknown>;
  return typeof find === 'function' && typeof list === 'function';
}

const SEGMENT = String.raw`(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+`;
const PATH_PATTERN = new RegExp(`^/*${SEGMENT}(?:/+${SEGMENT})*/*$`);

function path(otherwise: string): OptionRule<string> {
  const problem = 'must be one or more path segments of letters, digits, ".", "_", "~" and "-", separated by "/".';
  const accepts = (value: unknown): boolean =>
    typeof value === 'string' && (PATH_PATTERN.test(value) || (otherwise === '' && /^\/*$/.test(value)));
  return { ...text(otherwise), takes: 'path', problem: (value) => (accepts(value) ? undefined : problem) };
}

const decorators = {
  decorators: listOf<MethodDecorator>('decorators'),
  classDecorators: listOf<ClassDecorator>('decorators'),
};
const booleanAllowed = { mayBe: [true, false] };

export const ROUTE_RULES: OptionRules<PaymentRoutesOptions> = {
  ...decorators,
  path: path(''),
  redirect: group<RedirectRoutesOptions>(
    {
      ...decorators,
      successPath: path('redirect/payment/success'),
      failPath: path('redirect/payment/fail'),
      resultPath: path('redirect/payment/result'),
    },
    booleanAllowed,
  ),
  postback: group<PostbackRoutesOptions>({ ...decorators, path: path('postback/payment') }, booleanAllowed),
};

/** Like `OPTION_RULES`, for the options passed next to the factory. */
export const EXTRA_RULES: OptionRules<PaymentAcceptanceExtras> = {
  routes: group(ROUTE_RULES),
  role: oneOf(['all', 'callbacks', 'workers'], 'all'),
  dataSource: text('default'),
  routeImports: listOf('modules'),
};
