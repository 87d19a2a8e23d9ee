import { describe, expect, test } from '@jest/globals';
import { problemsOf, resolved, shopOptions, withOptions } from '../../../../test/support/units.js';
import { resolveOptions } from './resolve-options.js';

const TRANSACTIONS = 'transactions: must have the methods run() and query(), and placeholders: "$1" or "?".';
const JUDGE = 'judge: must be a synchronous function that returns the verdicts: neither async nor returning a promise.';
const SCHEMA =
  'schema: must be 1 to 40 lower-case letters, digits and "_", starting with a letter, such as "payment_acceptance", and not one of the ' +
  "database's own names (pg_…, information_schema).";

describe('the groups of options', () => {
  const MS = 'a whole number of milliseconds from 1 to 86400000';
  const SOME_PAUSES = 'a list of one or more whole numbers of milliseconds from 1 to 316224000000';

  test('a group of options is filled with defaults for what is not given', () => {
    const { http, deliveries } = resolveOptions(
      withOptions({ http: { attempts: 5, totalTimeoutMs: undefined } }),
      'test',
    );
    expect([http.attempts, http.totalTimeoutMs, deliveries.maxAttempts]).toEqual([5, 15_000, 60]);
  });

  test('retention can be switched off, and each of its ages can be years or unlimited', () => {
    expect(resolveOptions(withOptions({ retention: false }), 'test').retention).toBe(false);
    const retention = { deleteCallbacksAfterMs: 10 * 365 * 86_400_000, redactCallbacksAfterMs: null };
    expect(resolveOptions(withOptions({ retention }), 'test').retention).toMatchObject({
      ...retention,
      batchSize: 500,
    });
  });

  test.each([
    [{ http: { timeout: 5 } }, 'http.timeout: unknown option.'],
    [{ callback: {} }, 'callback: unknown option.'],
    [
      { http: { maxAnswerBytes: 0 } },
      'http.maxAnswerBytes: must be a whole number of bytes from 1 to 2147483647 (given: 0).',
    ],
    [{ http: { attempts: 0 } }, 'http.attempts: must be a whole number from 1 to 10 (given: 0).'],
    [{ http: { attempts: 1.5 } }, 'http.attempts: must be a whole number from 1 to 10 (given: 1.5).'],
    [{ http: { attempts: '3' } }, 'http.attempts: must be a whole number from 1 to 10 (given: string).'],
    [{ http: { attempts: NaN } }, 'http.attempts: must be a whole number from 1 to 10 (given: NaN).'],
    [{ schedule: { openMs: [] } }, `schedule.openMs: must be ${SOME_PAUSES} (given: array).`],
    [{ schedule: { openMs: [1, -1] } }, `schedule.openMs: must be ${SOME_PAUSES} (given: array).`],
    [
      { callbacks: { inquiriesPerHour: -1 } },
      'callbacks.inquiriesPerHour: must be a whole number from 0 to 360000 (given: -1).',
    ],
    [{ callbacks: { replyBody: 7 } }, 'callbacks.replyBody: must be text (given: 7).'],
    [
      { callbacks: { replyContentType: 'json' } },
      'callbacks.replyContentType: must be a media type such as application/json (given: string).',
    ],
    [
      { callbacks: { requirePostbackDigest: 'no' } },
      'callbacks.requirePostbackDigest: must be true or false (given: string).',
    ],
    [{ deliveries: [] }, 'deliveries: must be an object of options.'],
    [{ retention: true }, 'retention: must be an object of options or false.'],
    [
      { retention: { deleteCallbacksAfterMs: 0 } },
      'retention.deleteCallbacksAfterMs: must be a whole number of milliseconds from 1 to 316224000000, or null (given: 0).',
    ],
    [
      { retention: { redactBillsAfterMs: '30d' } },
      'retention.redactBillsAfterMs: must be a whole number of milliseconds from 1 to 316224000000, or null (given: string).',
    ],
    [{ pollMs: 2 ** 31 }, `pollMs: must be ${MS} (given: 2147483648).`],
    [{ shutdownTimeoutMs: null }, `shutdownTimeoutMs: must be ${MS} (given: null).`],
    [{ creation: { waitMs: 5 } }, 'creation: unknown option.'],
    [{ http: { retryBaseMs: 5 } }, 'http.retryBaseMs: unknown option.'],
    [{ judge: 'strict' }, JUDGE],
    [{ transactions: null }, TRANSACTIONS],
    [{ transactions: {} }, TRANSACTIONS],
    [{ transactions: { run() {}, placeholders: '?' } }, TRANSACTIONS],
    [{ transactions: { run() {}, query() {}, placeholders: ':1' } }, TRANSACTIONS],
    [{ judge: async () => Promise.resolve([]) }, JUDGE],
    [
      { checks: { concurrency: 2_147_483_647 } },
      'checks.concurrency: must be a whole number from 1 to 10000 (given: 2147483647).',
    ],
    [{ schema: 'pg_x' }, SCHEMA],
    [{ schema: 'information_schema' }, SCHEMA],
    [{ resultPage: {} }, 'resultPage: must be a function (given: object).'],
    [{ migrations: 'auto' }, 'migrations: must be "run" or "verify" (given: string).'],
    [{ schema: 'Payments' }, SCHEMA],
    [{ statementTimeoutMs: 0 }, `statementTimeoutMs: must be ${MS} (given: 0).`],
    [{ wakeUps: 'notify' }, 'wakeUps: must be "listen" or "poll" (given: string).'],
    [{ autoStart: 'yes' }, 'autoStart: must be true or false (given: string).'],
  ])('the options %j are refused: %s', (options, problem) => {
    expect(problemsOf(withOptions(options))).toEqual([problem]);
  });
});

test('every option has a default, but for those that may be absent', () => {
  const absent = (options: object, path = ''): string[] =>
    Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
      if (value === undefined) return [path + name];
      return typeof value === 'object' && value !== null ? absent(value, `${path}${name}.`) : [];
    });
  expect(absent(resolveOptions({ shops: { main: shopOptions() } }, 'test'))).toEqual([
    'shopResolver', 'publicUrl', 'judge', 'storage.url', 'storage.pool', 'transactions', 'resultPage',
  ]); // prettier-ignore
});

test('leases last twice as long as the requests under them may take, with every token', () => {
  const shop = shopOptions({ previousApiTokens: ['second-token-0123456789', 'third-token-0123456789'] });
  expect(resolveOptions({ shops: { main: shop } }, 'test').leases).toEqual({ checkMs: 90_000, creationMs: 288_000 });
  const shopResolver = { find: () => Promise.resolve(undefined), list: () => Promise.resolve([]) };
  expect(resolveOptions({ shopResolver }, 'test').leases.creationMs).toBe(288_000);
  expect(resolved().leases).toEqual({ checkMs: 30_000, creationMs: 108_000 });
  expect(resolved({}, { http: { totalTimeoutMs: 1_000, attempts: 1 } }).leases).toEqual({
    checkMs: 2_000,
    creationMs: 8_000,
  });
});
