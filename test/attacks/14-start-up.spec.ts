import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import {
  paymentAcceptanceConfig,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentConfigurationError,
} from 'nestjs-payment-acceptance';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Starting } from '../support/starting.js';

const P = 'PAYMENT_ACCEPTANCE_';
const GOOD = {
  [`${P}API_BASE_URL`]: 'https://api.pay.example',
  [`${P}API_TOKEN`]: 'f81d4fae7dec11d0a76500a0c91e6bf6',
  [`${P}SHOP_ID`]: '17',
};
const environment = { ...process.env };
const starting = new Starting();

describe('start up', () => {
  afterEach(async () => {
    process.env = { ...environment };
    await starting.close('keep');
  });
  afterAll(() => starting.close('drop'));

  /** Starts an application that is configured by the environment, on a real database. */
  function start(variables: Readonly<Record<string, string>>, nodeEnv = 'production') {
    process.env = { ...environment, ...GOOD, ...variables, NODE_ENV: nodeEnv };
    return starting.start([PaymentAcceptanceModule.forRootAsync(paymentAcceptanceConfig.asProvider())]);
  }

  /** The start fails, says which setting is wrong, why, and what to set, shows no value, and creates no table. */
  async function refuses(variables: Readonly<Record<string, string>>, said: RegExp, nodeEnv = 'production') {
    const error: unknown = await start(variables, nodeEnv).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(PaymentConfigurationError);
    const { message } = error as PaymentConfigurationError;
    expect(message).toMatch(said);
    expect(message).toMatch(/\bSet (it|the)\b/);
    for (const value of Object.values(variables)) {
      if (value.trim().length > 4) expect(message).not.toContain(value);
    }
    const tables = await (
      await starting.dataSource()
    ).query<object[]>(`SELECT 1 FROM pg_namespace WHERE nspname = 'payment_acceptance'`);
    expect(tables).toEqual([]);
  }

  describe('14: a start that would be unsafe, with NODE_ENV=production', () => {
    test.each([
      ["the sandbox's address", 'http://127.0.0.1:4010', /apiBaseUrl: is not https/],
      ["the sandbox's address behind TLS", 'https://127.0.0.1:4010', /address of this machine/],
      ['localhost', 'https://localhost', /address of this machine/],
      ['localhost with a dot', 'https://localhost.', /address of this machine/],
      ['a name below localhost', 'https://pay.localhost', /address of this machine/],
      ['this machine as a number', 'https://2130706433', /address of this machine/],
      ['this machine in IPv6', 'https://[::1]:4010', /address of this machine/],
      ['this machine in IPv6, mapped', 'https://[::ffff:127.0.0.1]', /address of this machine/],
      ['any address of this machine', 'https://0.0.0.0', /address of this machine/],
      ["a container's host", 'https://host.docker.internal', /address of this machine/],
      ['a host called sandbox', 'https://sandbox.pay.example', /address of a sandbox, .*set allowSandbox/],
      [
        'a host with sandbox in its name',
        'https://api-sandbox.pay.example',
        /address of a sandbox, .*set allowSandbox/,
      ],
      ['a path called sandbox', 'https://pay.example/sandbox', /address of a sandbox, .*set allowSandbox/],
      ['an http address', 'http://api.pay.example', /apiBaseUrl: is not https, .* could read the token/],
      ['an address with credentials', 'https://user:pa55word@api.pay.example', /a user name or a password/],
      ['an address with only a user name', 'https://user1@api.pay.example', /a user name or a password/],
      ['an address with a query', 'https://api.pay.example/?key=1', /a query or a fragment/],
      ['an address that is none', 'api.other.example', /is not an http or https address/],
      ['a file', 'file:///etc/passwd', /is not an http or https address/],
      ['an address of white space', '   ', /apiBaseUrl: is empty/],
      ['an empty address', '', /API_BASE_URL \(shop "main"\): is not set/],
    ])('a start in production with %s as address of the service is refused', (_name, value, said) =>
      refuses({ [`${P}API_BASE_URL`]: value }, said),
    );

    test.each([
      ["the sandbox's token", 'sandbox-main-token-0123456789abcdef', /apiToken: is a sandbox token/],
      ["a sandbox's token of another name", 'main_SANDBOX_0123456789abcdef', /apiToken: is a sandbox token/],
      ['an empty token', '', /API_TOKEN \(shop "main"\): is not set/],
      ['a token of white space', '   ', /apiToken: is empty/],
      ['a token of zeros', '0000000000000000', /apiToken: is a placeholder/],
      ['a token of one repeated letter', 'xxxxxxxxxxxxxxxxxxxxxxxx', /apiToken: is a placeholder/],
      ['a token of groups of x', 'xxxx-xxxx-xxxx', /apiToken: is a placeholder/],
      ['changeme', 'changeme', /apiToken: is a placeholder/],
      ['CHANGE_ME', 'CHANGE_ME', /apiToken: is a placeholder/],
      ['change-this-token', 'change-this-token', /apiToken: is a placeholder/],
      ['replace_with_your_token', 'replace_with_your_token', /apiToken: is a placeholder/],
      ['your-token', 'your-token', /apiToken: is a placeholder/],
      ['YOUR_API_TOKEN_HERE', 'YOUR_API_TOKEN_HERE', /apiToken: is a placeholder/],
      ['your-shops-token-here', 'your-shops-token-here', /apiToken: is a placeholder/],
      ['API_TOKEN', 'API_TOKEN', /apiToken: is a placeholder/],
      ['secret', 'secret', /apiToken: is a placeholder/],
      ['password', 'password', /apiToken: is a placeholder/],
      ['undefined, as text', 'undefined', /apiToken: is a placeholder/],
      ['null, as text', 'null', /apiToken: is a placeholder/],
      ['an object, as text', '[object Object]', /apiToken: is a placeholder/],
      ['<token>', '<api token>', /apiToken: is a placeholder/],
      ['${TOKEN}, which no shell has filled in', '${SHOP_TOKEN}', /apiToken: is a placeholder/],
      ['$TOKEN, which no shell has filled in', '$SHOP_TOKEN', /apiToken: is a placeholder/],
      ['%TOKEN%, which no shell has filled in', '%SHOP_TOKEN%', /apiToken: is a placeholder/],
      ['{{ token }}, which no template has filled in', '{{ .Values.token }}', /apiToken: is a placeholder/],
      ['a token in quotation marks', '"f81d4fae7dec11d0a76500a0"', /apiToken: is in quotation marks/],
      ['a token with "Bearer" before it', 'Bearer f81d4fae7dec11d0a765', /apiToken: contains white space/],
      ['a token with a line end', 'f81d4fae7dec11d0a765\n', /apiToken: contains white space/],
      ['a token with a header behind it', 'f81d4fae\r\nX-Admin: 1', /apiToken: contains white space/],
    ])('%s as token is refused', (_name, value, said) => refuses({ [`${P}API_TOKEN`]: value }, said));

    test('a placeholder among the previous tokens is refused', () =>
      refuses({ [`${P}PREVIOUS_API_TOKENS`]: 'f81d4fae7dec11d0a765,changeme' }, /previousApiTokens: is a placeholder/));

    test.each(['changeme', '<shop id>', 'YOUR_SHOP_ID', '   '])('%j as shop_id is refused', (value) =>
      refuses({ [`${P}SHOP_ID`]: value }, /shopId: is empty or a placeholder/),
    );

    test('one bad shop among several is named, and none of them starts', () =>
      refuses(
        {
          [`${P}SHOPS`]: 'main,eu',
          [`${P}MAIN_API_TOKEN`]: 'f81d4fae7dec11d0a765',
          [`${P}EU_API_TOKEN`]: 'your-token',
        },
        /shops\.eu\.apiToken: is a placeholder/,
      ));

    test('a sandbox that was allowed is refused over http all the same', () =>
      refuses(
        { [`${P}API_BASE_URL`]: 'http://sandbox.pay.example', [`${P}ALLOW_SANDBOX`]: 'true' },
        /apiBaseUrl: is not https/,
      ));

    test("a shop without a token does not get another's", () =>
      refuses(
        { [`${P}SHOPS`]: 'main,eu', [`${P}MAIN_API_TOKEN`]: 'f81d4fae7dec11d0a765' },
        /PAYMENT_ACCEPTANCE_EU_API_TOKEN \(shop "eu"\): is not set/,
      ));

    test.each(['production ', 'Production', ' PRODUCTION'])('NODE_ENV=%j is production as well', (nodeEnv) =>
      refuses({ [`${P}API_TOKEN`]: 'sandbox-main-token-0123456789abcdef' }, /sandbox token/, nodeEnv),
    );
  });

  describe('14: placeholders and broken addresses are refused outside production too', () => {
    test.each([
      ['a placeholder', { [`${P}API_TOKEN`]: 'changeme' }, /apiToken: is a placeholder/],
      [
        'credentials in the address',
        { [`${P}API_BASE_URL`]: 'http://u5er:pa55@127.0.0.1' },
        /a user name or a password/,
      ],
    ])('%s is refused outside production too', (_name, variables, said) => refuses(variables, said, 'development'));
  });

  describe('14: safe settings start', () => {
    // Creates the tables, which the refused starts above must not create.
    afterEach(() => starting.close('drop'));

    test.each(['production', 'development'])(
      'an application with NODE_ENV=%s and the settings of a real service starts',
      async (nodeEnv) => {
        await start({}, 'development'); // creates the tables, which production only verifies
        const module = await start({}, nodeEnv);
        expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
      },
    );

    test('an application with a sandbox that was allowed starts in production', async () => {
      await start({}, 'development');
      const module = await start({ [`${P}API_BASE_URL`]: 'https://sandbox.pay.example', [`${P}ALLOW_SANDBOX`]: '1' });
      expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
    });

    test.each([
      '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d',
      'your9fKx02LmQpZt8sVw',
      'setitQ8s7Dk2Lm0Pz',
      'a$b%c&d{e}f<g>h0123',
    ])('an application with the token %s starts', async (token) => {
      const module = await start({ [`${P}API_TOKEN`]: token }, 'development');
      expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
    });
  });

  describe('14: the built sample shop, with NODE_ENV=production', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    async function run(variables: Readonly<Record<string, string>>) {
      const bare = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith(P)));
      const child = spawn(process.execPath, ['dist/apps/shop/main.js'], {
        env: {
          ...bare,
          NODE_ENV: 'production',
          NODE_OPTIONS: '',
          DATABASE_URL: database.url,
          SHOP_PORT: '1',
          ...variables,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>]);
      return { said, code };
    }

    test('the built sample shop has no sandbox to fall back to in production', async () => {
      const { said, code } = await run({});
      expect(code).toBe(1);
      for (const variable of ['API_BASE_URL', 'API_TOKEN', 'SHOP_ID']) {
        expect(said).toMatch(new RegExp(`${P}${variable} \\(shop "main"\\): is not set\\. Set it to `));
      }
    });

    test('the built sample shop does not start in production with the token and address of the sandbox', async () => {
      const { said, code } = await run({
        ...GOOD,
        [`${P}API_BASE_URL`]: 'http://127.0.0.1:4010',
        [`${P}API_TOKEN`]: 'sandbox-main-token-0123456789abcdef',
      });
      expect(code).toBe(1);
      expect(said).toMatch(/apiToken: is a sandbox token/);
      expect(said).toMatch(/apiBaseUrl: is not https/);
      expect(said).not.toContain('0123456789abcdef');
    });
  });
});
