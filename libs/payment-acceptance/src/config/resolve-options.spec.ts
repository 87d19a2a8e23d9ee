import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { problemsOf, shopOptions, TOKEN, withOptions } from '../../../../test/support/units.js';
import type { PaymentAcceptanceOptions } from './options.js';
import { resolveOptions } from './resolve-options.js';
import { resolveShop } from './resolve-shop.js';
import type { PaymentShopOptions } from './service-options.js';

const oneShop = (more: Record<string, unknown>) => ({ shops: { main: { ...shopOptions(), ...more } } });

describe('a shop', () => {
  test('a shop with three options is complete and gets the documented defaults', () => {
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
    ['shopId', ['', '  ', undefined, 7, 'undefined', 'null', '<shop-id>', 'xxx', 'changeme', '"shop-1"', "'7", 'shop-1\r', ' shop-1', 'shop\0', 'a b', 'a\u200bb']],
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
  ])('a shop with a bad %s is refused, and the option is named', (option, values) => {
    for (const value of values) {
      const found = problemsOf(oneShop({ [option]: value }));
      expect([value, found]).toEqual([value, [expect.stringContaining(`shops.main.${option}: `)]]);
    }
  }); // prettier-ignore

  test.each(['', ' ', 'a b', 'a/b', '-a', 'x'.repeat(41), 'магазин', '..'])('a shop cannot be named %j', (name) => {
    expect(problemsOf({ shops: { [name]: shopOptions() } })[0]).toContain('because it is part of routes');
  });

  test.each(['1', '7', '11', '222', 'aa', 'main', '0007'])('a shop may have the shop_id %s', (shopId) => {
    expect(problemsOf(oneShop({ shopId }))).toEqual([]);
  });

  test('a shop with a short token causes a warning', () => {
    const { warnings } = resolveOptions(oneShop({ apiToken: 'short-token' }), 'test');
    expect(warnings).toEqual([expect.stringContaining('shops.main.apiToken: has fewer than 16 characters')]);
  });

  test('a shop may be a table row: null means unset, and a row from the resolver may have other columns', () => {
    const row = { currency: null, timeZone: null, previousApiTokens: null };
    const filled = { currency: 'RUB', timeZone: 'UTC' };
    expect(resolveOptions(oneShop(row), 'test').shops.get('main')).toMatchObject(filled);
    expect(resolveShop('main', { ...shopOptions(), ...row, id: 7 }, false, true).shop).toMatchObject(filled);
  });

  test('an unknown option is refused, since a mistyped one would have no effect', () => {
    expect(problemsOf(oneShop({ curency: 'EUR' }))).toEqual(['shops.main.curency: unknown option.']);
    expect(problemsOf({ ...oneShop({}), http: { role: 'workers' } })).toEqual(['http.role: unknown option.']);
    expect(problemsOf({ ...oneShop({}), role: 'workers' })).toEqual([
      'role: belongs beside the factory, not in what it returns.',
    ]);
  });

  test.each([17, {}])('a shop with the shopId %j is refused: it must be a string', (shopId) => {
    expect(problemsOf(oneShop({ shopId }))[0]).toMatch(/^shops\.main\.shopId: must be a string, not of the type /);
  });

  test.each([
    ['https://api.example/pay//', 'https://api.example/pay'],
    ['HTTPS://API.example:443/Pay', 'https://api.example/Pay'],
    ['http:/api.example', 'http://api.example'],
    ['https://бухгалтерия.example', 'https://xn--80abgjpq0bofu1j.example'],
  ])('the apiBaseUrl %s of a shop is used as %s', (given, used) => {
    const { shops } = resolveOptions(oneShop({ apiBaseUrl: given }), 'test');
    expect(shops.get('main')?.apiBaseUrl).toBe(used);
  });
});

describe('the shops', () => {
  test.each([undefined, null, 7, {}, { shops: {} }, { shops: [] }, { shops: 'main' }])(
    'the options %j are refused because they name no shop',
    (options) => {
      expect(problemsOf(options).join()).toContain('configure at least one shop');
    },
  );

  test.each([null, 'text', 7, []])('a shop that is %j is refused', (shop) => {
    expect(problemsOf({ shops: { main: shop } })[0]).toContain('shops.main: must be an object');
  });

  test('the default shop is the only one, the one named main, or the one in defaultShop', () => {
    const other = { apiToken: 'other-token-0123456789abcdef' };
    const shops: Record<string, PaymentShopOptions> = { eu: shopOptions(other), main: shopOptions() };
    expect(resolveOptions({ shops }, 'test').defaultShop).toBe('main');
    expect(resolveOptions({ shops, defaultShop: 'eu' }, 'test').defaultShop).toBe('eu');
    expect(resolveOptions({ shops: { eu: shopOptions() } }, 'test').defaultShop).toBe('eu');
    expect(problemsOf({ shops: { eu: shopOptions(), us: shopOptions(other) } })).toEqual([
      'defaultShop: with several shops, set the default one (or name one of them "main").',
    ]);
    expect(problemsOf({ shops, defaultShop: 'us' })).toEqual([
      'defaultShop: there is no shop "us" in the option "shops".',
    ]);
  });

  test.each([
    [{}, {}],
    [{ apiBaseUrl: 'https://other.example' }, {}],
    [{ previousApiTokens: ['older-token-0123456789'] }, { apiToken: 'older-token-0123456789' }],
    [{ apiToken: 'new-token-0123456789', previousApiTokens: [TOKEN] }, {}],
  ])('two shops %j and %j that share a token cause a warning without the token', (a, b) => {
    const shops = { main: shopOptions(a), eu: shopOptions({ shopId: 'shop-eu', ...b }) };
    const found = resolveOptions({ shops }, 'test').warnings;
    expect(found).toEqual([expect.stringMatching(/^shops\.eu\.apiToken: this shop and "main" share a token/)]);
    expect(found.join()).not.toMatch(/token-0123456789/);
  });

  test('two names for the same shop of the service cause a warning', () => {
    const eu = { apiToken: 'other-token-0123456789abcdef', apiBaseUrl: shopOptions().apiBaseUrl.toUpperCase() };
    const shops = { main: shopOptions(), eu: shopOptions(eu) };
    expect(resolveOptions({ shops }, 'test').warnings).toEqual([
      'shops.eu.shopId: this shop and "main" are the same shop of the service, and its bills are in one account. Set the id of each.',
    ]);
  });

  test('a shop that repeats its present token as a previous one shares it with no other shop', () => {
    expect(problemsOf(oneShop({ previousApiTokens: [TOKEN] }))).toEqual([]);
  });

  test('all shops may come from a resolver, and the default is then main or the one in defaultShop', () => {
    const shopResolver = { find: () => Promise.resolve(undefined), list: () => Promise.resolve([]) };
    expect(resolveOptions({ shopResolver }, 'test')).toMatchObject({ defaultShop: 'main', shopResolver });
    expect(resolveOptions({ shopResolver, defaultShop: 'eu' }, 'test').defaultShop).toBe('eu');
    expect(resolveOptions({ shopResolver, shops: { eu: shopOptions() } }, 'test').defaultShop).toBe('eu');
    expect(problemsOf({ shopResolver, defaultShop: 'no name' })[0]).toContain('defaultShop: there is no shop');
  });

  test.each([null, 7, {}, { find: () => undefined }])('%p is refused as a shop resolver', (shopResolver) => {
    expect(problemsOf({ shopResolver })[0]).toBe('shopResolver: must have the methods find(name) and list().');
  });

  test('all problems of all shops are reported at once, without a token', () => {
    const found = problemsOf({
      shops: { a: shopOptions({ shopId: '' }), b: shopOptions({ currency: 'x', apiToken: 'sp ace' }) },
      http: 7,
    });
    expect(found.map((problem) => problem.split(' ')[0])).toEqual([
      'http:', 'shops.a.shopId:', 'shops.b.apiToken:', 'shops.b.currency:', 'defaultShop:',
    ]); // prettier-ignore
    expect(found.join()).not.toContain('sp ace');
  });
});

describe('in production', () => {
  const production = (more: Record<string, unknown>) => problemsOf(oneShop(more), 'production');

  test.each([
    'http://api.example', 'https://localhost', 'https://localhost:3000', 'https://127.0.0.1', 'https://[::1]', 'https://0.0.0.0',
    'https://sandbox.example', 'https://pay.localhost',
  ])('in production the apiBaseUrl %s is refused', (apiBaseUrl) => {
    expect(production({ apiBaseUrl })).toEqual([expect.stringContaining('NODE_ENV is production')]);
    expect(problemsOf(oneShop({ apiBaseUrl }), 'development')).toEqual([]);
  }); // prettier-ignore

  test('in production a sandbox token is refused, also as a previous one', () => {
    expect(production({ apiToken: 'sandbox-token-0123456789' })).toEqual([
      expect.stringContaining('is a sandbox token'),
    ]);
    expect(production({ previousApiTokens: ['SANDBOX-token-0123456789'] })).toHaveLength(1);
  });

  test('in production allowSandbox permits a sandbox, but neither http nor an address of this machine', () => {
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

  test('in production tables are only verified by default, and elsewhere they are created', () => {
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

describe('options that cannot be read', () => {
  const SECRET = 'the-secret-token-of-a-vault';
  const throws = (): never => {
    throw new Error(`vault: ${SECRET}`);
  };
  const unreadable = (name: string): object => Object.defineProperty({}, name, { enumerable: true, get: throws });
  const READ = 'reading it throws an error. Pass a plain value instead of a getter or a Proxy.';

  const LISTED = 'listing them throws an error. Pass an object instead of a Proxy.';
  const shop = shopOptions();
  const rows: [string, object, string][] = [
    ['a getter', unreadable('defaultShop'), `defaultShop: ${READ}`],
    ['a getter in a group', { checks: unreadable('concurrency') }, `checks.concurrency: ${READ}`],
    ['a getter of what is no option', unreadable('colour'), `colour: ${READ}`],
    ['a getter of a shop', { shops: unreadable('main') }, `shops.main: ${READ}`],
    ['a Proxy for a shop', { shops: { eu: new Proxy(shop, { get: throws }) } }, `shops.eu.apiToken: ${READ}`],
    ['a getter in the resolver', { shopResolver: unreadable('find') }, `shopResolver: ${READ}`],
    ['a Proxy for all', new Proxy({}, { ownKeys: throws, get: throws }), `The options: ${LISTED}`],
    ['a Proxy for the shops', { shops: new Proxy({}, { ownKeys: throws }) }, `shops: ${LISTED}`],
  ];
  test.each(rows)(
    '%s that throws is named among the problems, without the message of its error',
    (_name, options, problem) => {
      const problems = problemsOf(options);
      expect(problems).toContain(problem);
      expect(problems.join()).not.toContain(SECRET);
    },
  );
});
