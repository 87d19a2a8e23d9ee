import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { shopOptions, TOKEN } from '../../../../test/support/units.js';
import { PaymentConfigurationError } from './configuration.error.js';
import type { PaymentAcceptanceOptions } from './options.js';
import { resolveOptions } from './resolve-options.js';
import type { PaymentShopOptions } from './service-options.js';

/** Every problem with these options. */
function problems(options: unknown, environment = 'test'): readonly string[] {
  try {
    resolveOptions(options as PaymentAcceptanceOptions, environment);
    return [];
  } catch (error) {
    if (error instanceof PaymentConfigurationError) return error.problems;
    throw error;
  }
}

const oneShop = (more: Record<string, unknown>) => ({ shops: { main: { ...shopOptions(), ...more } } });
const withOptions = (more: Record<string, unknown>) => ({ shops: { main: shopOptions() }, ...more });

describe('a shop', () => {
  test('of three options is enough, and gets the documented defaults', () => {
    const { shops, defaultShop, warnings } = resolveOptions({ shops: { only: shopOptions() } }, 'test');
    expect(defaultShop).toBe('only');
    expect(shops.get('only')).toMatchObject({
      name: 'only',
      shopId: 'shop-1',
      apiBaseUrl: 'https://api.example',
      currency: 'RUB',
      payerPaysCommission: false,
      timeZone: 'UTC',
      previousTokens: [],
    });
    expect([shops.get('only')?.token.reveal(), warnings]).toEqual([TOKEN, []]);
  });

  test.each<[string, unknown[]]>([
    ['shopId', ['', '  ', undefined, 7, 'undefined', 'null', '<shop-id>', 'xxx', 'changeme']],
    [
      'apiToken',
      ['', ' ', undefined, null, 7, 'undefined', 'null', 'NaN', '[object Object]', '<token>', '{{TOKEN}}', 'changeme', 'secret',
        'your-api-token', '0000000000000000', 'with space', 'line\nend', 'токен-токен-токен', 'tab\t', '[secret]'],
    ],
    ['previousApiTokens', ['token', [''], ['undefined'], [undefined], ['good-token-0123456789', 'line\n'], {}]],
    [
      'apiBaseUrl',
      ['', undefined, 7, 'api.example', 'ftp://api.example', 'https://', 'https://u:p@api.example', 'https://api.example?a=1',
        'https://api.example#a', 'javascript:alert(1)', 'https://api.example?', 'https://api.example#', 'https://api.example/pay?',
        'https://api.example ', ' https://api.example', 'https://api.example/pay\u00a0', 'https://api.ex\tample',
        'https://api.example\n', '\0https://api.example', 'https://api.example/api/v1', 'https://api.example/api/v1//'],
    ],
    ['currency', ['rub', 'RU', 'RUBL', '₽', 7]],
    ['payerPaysCommission', ['true', 1, 0, {}]],
    ['timeZone', ['Mars/Olympus', '+3', '', 7, '+25:00']],
  ])('is refused for its %s, by name', (option, values) => {
    for (const value of values) {
      const found = problems(oneShop({ [option]: value }));
      expect([value, found]).toEqual([value, [expect.stringContaining(`shops.main.${option}: `)]]);
    }
  }); // prettier-ignore

  test.each(['', ' ', 'a b', 'a/b', '-a', 'x'.repeat(41), 'магазин', '..'])('cannot be called %j', (name) => {
    expect(problems({ shops: { [name]: shopOptions() } })[0]).toContain('because it is part of routes');
  });

  test.each(['1', '7', '11', '222', 'aa', 'main', '0007'])('may have the shop_id %s', (shopId) => {
    expect(problems(oneShop({ shopId }))).toEqual([]);
  });

  test('with a short token is a warning', () => {
    const { warnings } = resolveOptions(oneShop({ apiToken: 'short-token' }), 'test');
    expect(warnings).toEqual([expect.stringContaining('shops.main.apiToken: has fewer than 16 characters')]);
  });

  test('may come from a row of a table: with other columns, and null in those that were not set', () => {
    const row = { id: 7, currency: null, timeZone: null, previousApiTokens: null };
    expect(resolveOptions(oneShop(row), 'test').shops.get('main')).toMatchObject({ currency: 'RUB', timeZone: 'UTC' });
  });

  test('keeps the path of its address, without a slash at the end', () => {
    const { shops } = resolveOptions(oneShop({ apiBaseUrl: 'https://api.example/pay//' }), 'test');
    expect(shops.get('main')?.apiBaseUrl).toBe('https://api.example/pay');
  });
});

describe('the shops', () => {
  test.each([undefined, null, 7, {}, { shops: {} }, { shops: [] }, { shops: 'main' }])('%j names none', (options) => {
    expect(problems(options).join()).toContain('name at least one shop');
  });

  test.each([null, 'text', 7, []])('one that is %j is refused', (shop) => {
    expect(problems({ shops: { main: shop } })[0]).toContain('shops.main: must be an object');
  });

  test('the default is the only one, the one named main, or the one that is said', () => {
    const other = { apiToken: 'other-token-0123456789abcdef' };
    const shops: Record<string, PaymentShopOptions> = { eu: shopOptions(other), main: shopOptions() };
    expect(resolveOptions({ shops }, 'test').defaultShop).toBe('main');
    expect(resolveOptions({ shops, defaultShop: 'eu' }, 'test').defaultShop).toBe('eu');
    expect(resolveOptions({ shops: { eu: shopOptions() } }, 'test').defaultShop).toBe('eu');
    expect(problems({ shops: { eu: shopOptions(), us: shopOptions(other) } })).toEqual([
      'defaultShop: with several shops, name the default one (or call one of them "main").',
    ]);
    expect(problems({ shops, defaultShop: 'us' })).toEqual([
      'defaultShop: there is no shop "us" in the option "shops".',
    ]);
  });

  test.each([
    [{}, {}],
    [{ apiBaseUrl: 'https://other.example' }, {}],
    [{ previousApiTokens: ['older-token-0123456789'] }, { apiToken: 'older-token-0123456789' }],
    [{ apiToken: 'new-token-0123456789', previousApiTokens: [TOKEN] }, {}],
  ])('%j and %j that share a token are warned of, without the token', (a, b) => {
    const found = resolveOptions({ shops: { main: shopOptions(a), eu: shopOptions(b) } }, 'test').warnings;
    expect(found).toEqual([expect.stringMatching(/^shops\.eu\.apiToken: this shop and "main" share a token/)]);
    expect(found.join()).not.toMatch(/token-0123456789/);
  });

  test('one that names its present token as a previous one, too, shares it with none', () => {
    expect(problems(oneShop({ previousApiTokens: [TOKEN] }))).toEqual([]);
  });

  test('may all come from a resolver; the default one is then the one named main, or the one that is said', () => {
    const shopResolver = { find: () => Promise.resolve(undefined), list: () => Promise.resolve([]) };
    expect(resolveOptions({ shopResolver }, 'test')).toMatchObject({ defaultShop: 'main', shopResolver });
    expect(resolveOptions({ shopResolver, defaultShop: 'eu' }, 'test').defaultShop).toBe('eu');
    expect(resolveOptions({ shopResolver, shops: { eu: shopOptions() } }, 'test').defaultShop).toBe('eu');
    expect(problems({ shopResolver, defaultShop: 'no name' })[0]).toContain('defaultShop: there is no shop');
  });

  test.each([null, 7, {}, { find: () => undefined }])('%p is no resolver', (shopResolver) => {
    expect(problems({ shopResolver })[0]).toBe('shopResolver: must have the methods find(name) and list().');
  });

  test('all problems of all shops come at once, and none shows a token', () => {
    const found = problems({
      shops: { a: shopOptions({ shopId: '' }), b: shopOptions({ currency: 'x', apiToken: 'sp ace' }) },
      http: 7,
    });
    expect(found.map((problem) => problem.split(' ')[0])).toEqual([
      'http:', 'shops.a.shopId:', 'shops.b.apiToken:', 'shops.b.currency:', 'defaultShop:',
    ]); // prettier-ignore
    expect(found.join()).not.toContain('sp ace');
  });
});

describe('the groups of options', () => {
  const MS = 'a whole number of milliseconds from 1 to 2147483647';
  const UP_TO_10_S = 'a whole number of milliseconds from 0 to 10000';
  const SOME_PAUSES = 'a list of one or more whole numbers of milliseconds from 1 to 316224000000';

  test('are filled with defaults beside what is given', () => {
    const { http, deliveries } = resolveOptions(
      withOptions({ http: { attempts: 5, totalTimeoutMs: undefined } }),
      'test',
    );
    expect([http.attempts, http.totalTimeoutMs, deliveries.maxAttempts]).toEqual([5, 15_000, 60]);
  });

  test('connections for creations are opened ahead for two seconds, or not at all', () => {
    const openAheadMs = (http: object): number => resolveOptions(withOptions({ http }), 'test').http.openAheadMs;
    expect([openAheadMs({}), openAheadMs({ openAheadMs: 0 }), openAheadMs({ openAheadMs: 500 })]).toEqual([
      2_000, 0, 500,
    ]);
  });

  test('retention may be switched off, and an age of it be years, or none', () => {
    expect(resolveOptions(withOptions({ retention: false }), 'test').retention).toBe(false);
    const retention = { deleteCallbacksAfterMs: 10 * 365 * 86_400_000, redactCallbacksAfterMs: null };
    expect(resolveOptions(withOptions({ retention }), 'test').retention).toMatchObject({
      ...retention,
      batchSize: 500,
    });
  });

  test.each([
    [{ http: { timeout: 5 } }, 'http.timeout: there is no such option.'],
    [{ callback: {} }, 'callback: there is no such option.'],
    [{ http: { openAheadMs: 10_001 } }, `http.openAheadMs: must be ${UP_TO_10_S} (given: 10001).`],
    [{ http: { openAheadMs: -1 } }, `http.openAheadMs: must be ${UP_TO_10_S} (given: -1).`],
    [
      { http: { maxAnswerBytes: 0 } },
      'http.maxAnswerBytes: must be a whole number of bytes from 1 to 2147483647 (given: 0).',
    ],
    [{ http: { attempts: 0 } }, 'http.attempts: must be a whole number from 1 to 2147483647 (given: 0).'],
    [{ http: { attempts: 1.5 } }, 'http.attempts: must be a whole number from 1 to 2147483647 (given: 1.5).'],
    [{ http: { attempts: '3' } }, 'http.attempts: must be a whole number from 1 to 2147483647 (given: string).'],
    [{ http: { attempts: NaN } }, 'http.attempts: must be a whole number from 1 to 2147483647 (given: NaN).'],
    [
      { http: { hooks: { beforeRequest: 7 } } },
      'http.hooks: must have the functions beforeRequest, afterResponse, or one of them.',
    ],
    [{ schedule: { openMs: [] } }, `schedule.openMs: must be ${SOME_PAUSES} (given: array).`],
    [{ schedule: { openMs: [1, -1] } }, `schedule.openMs: must be ${SOME_PAUSES} (given: array).`],
    [
      { schedule: { jitterPercent: 101 } },
      'schedule.jitterPercent: must be a whole number of percent from 0 to 100 (given: 101).',
    ],
    [
      { callbacks: { inquiriesPerHour: -1 } },
      'callbacks.inquiriesPerHour: must be a whole number from 0 to 3600 (given: -1).',
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
    [
      { callbacks: { forwardUnknown: 'https://old.example' } },
      'callbacks.forwardUnknown: must be a function (given: string).',
    ],
    [{ deliveries: [] }, 'deliveries: must be an object of options.'],
    [{ retention: true }, 'retention: must be an object of options or false.'],
    [
      { retention: { deleteCallbacksAfterMs: 0 } },
      'retention.deleteCallbacksAfterMs: must be a whole number of milliseconds from 1 to 316224000000, or null (given: 0).',
    ],
    [{ retention: { everyMs: 2 ** 31 } }, `retention.everyMs: must be ${MS} (given: 2147483648).`],
    [
      { retention: { batchSize: null } },
      'retention.batchSize: must be a whole number from 1 to 2147483647 (given: null).',
    ],
    [{ judge: 'strict' }, 'judge: must be a function (given: string).'],
    [{ resultPage: {} }, 'resultPage: must be a function (given: object).'],
    [{ migrations: 'auto' }, 'migrations: must be "run" or "verify" (given: string).'],
    [
      { schema: 'Payments' },
      'schema: must be 1 to 40 small letters, digits and "_", beginning with a letter, as in "payment_acceptance".',
    ],
    [{ statementTimeoutMs: 0 }, `statementTimeoutMs: must be ${MS} (given: 0).`],
    [{ wakeUps: 'notify' }, 'wakeUps: must be "listen" or "poll" (given: string).'],
    [{ autoStart: 'yes' }, 'autoStart: must be true or false (given: string).'],
    [
      { confirmer: { leaseMs: 15_000 } },
      'confirmer.leaseMs: 15000 ms is not longer than a request may take (15000 ms).',
    ],
    [{ creation: { leaseMs: 45_000 } }, 'creation.leaseMs: 45000 ms is not longer than a request may take (54000 ms).'],
  ])('%j: %s', (options, problem) => {
    expect(problems(withOptions(options))).toEqual([problem]);
  });
});

test('every option has a default, but for those that may be absent', () => {
  const absent = (options: object, path = ''): string[] =>
    Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
      if (value === undefined) return [path + name];
      return typeof value === 'object' && value !== null ? absent(value, `${path}${name}.`) : [];
    });
  expect(absent(resolveOptions({ shops: { main: shopOptions() } }, 'test'))).toEqual([
    'shopResolver', 'publicUrl', 'callbacks.forwardUnknown', 'judge', 'resultPage',
  ]); // prettier-ignore
});

describe('in production', () => {
  const production = (more: Record<string, unknown>) => problems(oneShop(more), 'production');

  test.each([
    'http://api.example', 'https://localhost', 'https://localhost:3000', 'https://127.0.0.1', 'https://[::1]', 'https://0.0.0.0',
    'https://sandbox.example', 'https://pay.localhost',
  ])('%s is no address of the service', (apiBaseUrl) => {
    expect(production({ apiBaseUrl })).toEqual([expect.stringContaining('NODE_ENV is production')]);
    expect(problems(oneShop({ apiBaseUrl }), 'development')).toEqual([]);
  }); // prettier-ignore

  test('a token of the sandbox is refused, also as a previous one', () => {
    expect(production({ apiToken: 'sandbox-token-0123456789' })).toEqual([
      expect.stringContaining('token of the sandbox'),
    ]);
    expect(production({ previousApiTokens: ['SANDBOX-token-0123456789'] })).toHaveLength(1);
  });

  test('a sandbox may be allowed by its shop; an http address and one of this machine stay refused', () => {
    const allowed = (more: object) => production({ allowSandbox: true, ...more });
    expect(allowed({ apiBaseUrl: 'https://api-sandbox.example' })).toEqual([]);
    expect(allowed({ apiToken: 'sandbox-token-0123456789', previousApiTokens: ['SANDBOX-token-0123456789'] })).toEqual(
      [],
    );
    expect(allowed({ apiBaseUrl: 'http://sandbox.example' })).toEqual([expect.stringContaining('is not https')]);
    expect(allowed({ apiBaseUrl: 'https://sandbox.localhost' })).toEqual([expect.stringContaining('of this machine')]);
    expect(production({ allowSandbox: false, apiBaseUrl: 'https://sandbox.example' })).toEqual([
      expect.stringMatching(/address of a sandbox, .* set allowSandbox/),
    ]);
    expect(production({ allowSandbox: 'yes', apiBaseUrl: 'https://sandbox.example' })).toHaveLength(2);
  });

  test('tables are only verified by default; elsewhere they are made', () => {
    const options = withOptions({}) as PaymentAcceptanceOptions;
    expect(resolveOptions(options, 'production').migrations).toBe('verify');
    expect(resolveOptions({ ...options, migrations: 'run' }, 'production').migrations).toBe('run');
    expect(resolveOptions(options, undefined).migrations).toBe('run');
  });
});

test('resolved options and their error show no token', () => {
  const resolved = resolveOptions(oneShop({ previousApiTokens: ['previous-token-0123'] }), 'test');
  const shown = inspect(resolved, { depth: 10, showHidden: true }) + JSON.stringify([...resolved.shops]);
  expect(shown).not.toMatch(/unit-token|previous-token/);
});

test('leases that were not asked for are as long as the tokens and times that were', () => {
  const shop = shopOptions({ previousApiTokens: ['second-token-0123456789', 'third-token-0123456789'] });
  const { creation, confirmer } = resolveOptions({ shops: { main: shop } }, 'test');
  expect([creation.leaseMs, confirmer.leaseMs]).toEqual([288_000, 90_000]);
  const shopResolver = { find: () => Promise.resolve(undefined), list: () => Promise.resolve([]) };
  expect(resolveOptions({ shopResolver }, 'test').creation.leaseMs).toBe(288_000);
  const plain = resolveOptions({ shops: { main: shopOptions() } }, 'test');
  expect([plain.creation.leaseMs, plain.confirmer.leaseMs]).toEqual([120_000, 30_000]);
});
