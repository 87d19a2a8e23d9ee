import { describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { paymentAcceptanceOptionsFromEnv } from './environment.js';

const P = 'PAYMENT_ACCEPTANCE_';
const one = { [`${P}API_BASE_URL`]: 'https://api.example', [`${P}API_TOKEN`]: 'a-token', [`${P}SHOP_ID`]: 'shop-1' };

describe('one shop', () => {
  test('a single shop of the environment is named main', () => {
    expect(paymentAcceptanceOptionsFromEnv(one)).toEqual({
      shops: {
        main: { apiBaseUrl: 'https://api.example', apiToken: 'a-token', shopId: 'shop-1' },
      },
    });
  });

  test('a single shop takes all its options from the environment', () => {
    const more = {
      [`${P}CURRENCY`]: 'EUR',
      [`${P}TIME_ZONE`]: 'Europe/Berlin',
      [`${P}PAYER_PAYS_COMMISSION`]: '1',
      [`${P}PREVIOUS_API_TOKENS`]: 'older, oldest,',
    };
    expect(paymentAcceptanceOptionsFromEnv({ ...one, ...more }).shops.main).toMatchObject({
      currency: 'EUR',
      timeZone: 'Europe/Berlin',
      payerPaysCommission: true,
      previousApiTokens: ['older', 'oldest'],
    });
  });

  test('PUBLIC_URL says under which address the service reaches the application', () => {
    const { publicUrl } = paymentAcceptanceOptionsFromEnv({ ...one, [`${P}PUBLIC_URL`]: 'https://shop.example' });
    expect(publicUrl).toBe('https://shop.example');
  });

  test('ALLOW_SANDBOX lets a shop be a sandbox in production', () => {
    expect(paymentAcceptanceOptionsFromEnv({ ...one, [`${P}ALLOW_SANDBOX`]: 'true' }).shops.main).toMatchObject({
      allowSandbox: true,
    });
  });

  test('every option of the module that text can express has a variable', () => {
    const said = {
      SCHEMA: 'payments',
      MIGRATIONS: 'run',
      WAKE_UPS: 'poll',
      AUTO_START: '0',
      STATEMENT_TIMEOUT_MS: '500',
    };
    const env = Object.fromEntries(Object.entries(said).map(([name, value]) => [P + name, value]));
    expect(paymentAcceptanceOptionsFromEnv({ ...one, ...env })).toMatchObject({
      schema: 'payments',
      migrations: 'run',
      wakeUps: 'poll',
      autoStart: false,
      statementTimeoutMs: 500,
    });
    expect(() => paymentAcceptanceOptionsFromEnv({ ...one, [`${P}WAKE_UPS`]: 'notify' })).toThrow(
      'PAYMENT_ACCEPTANCE_WAKE_UPS: must be "listen" or "poll".',
    );
  });

  test.each([['true', true], ['false', false], ['1', true], ['0', false], ['', undefined]])(
    'PAYER_PAYS_COMMISSION=%s is %s',
    (text, value) => {
      const env = { ...one, [`${P}PAYER_PAYS_COMMISSION`]: text };
      expect(paymentAcceptanceOptionsFromEnv(env).shops.main!.payerPaysCommission).toBe(value);
    },
  ); // prettier-ignore
});

describe('several shops', () => {
  const several = {
    ...one,
    [`${P}SHOPS`]: 'main, north-eu',
    [`${P}MAIN_API_TOKEN`]: 'main-token',
    [`${P}NORTH_EU_API_TOKEN`]: 'eu-token',
    [`${P}NORTH_EU_SHOP_ID`]: 'shop-2',
    [`${P}DEFAULT_SHOP`]: 'north-eu',
  };

  test('several shops take what they do not set from the variables without a shop name', () => {
    expect(paymentAcceptanceOptionsFromEnv(several)).toMatchObject({
      defaultShop: 'north-eu',
      shops: {
        main: { apiBaseUrl: 'https://api.example', apiToken: 'main-token', shopId: 'shop-1' },
        'north-eu': { apiBaseUrl: 'https://api.example', apiToken: 'eu-token', shopId: 'shop-2' },
      },
    });
  });

  test('several shops never take a token from the variables without a shop name', () => {
    const env = { ...several, [`${P}NORTH_EU_API_TOKEN`]: undefined, [`${P}PREVIOUS_API_TOKENS`]: 'older' };
    expect(() => paymentAcceptanceOptionsFromEnv(env)).toThrow(
      'PAYMENT_ACCEPTANCE_NORTH_EU_API_TOKEN (shop "north-eu"): is not set.',
    );
    const { main } = paymentAcceptanceOptionsFromEnv({ ...env, [`${P}NORTH_EU_API_TOKEN`]: 'x' }).shops;
    expect(main!.previousApiTokens).toBeUndefined();
  });

  test('shops that would read the same variables are refused', () => {
    expect(() => paymentAcceptanceOptionsFromEnv({ ...several, [`${P}SHOPS`]: 'a-b,a_b' })).toThrow(
      'a_b would read the variables of another shop',
    );
    expect(() => paymentAcceptanceOptionsFromEnv({ ...several, [`${P}SHOPS`]: ' , ' })).toThrow('lists no shop');
  });
});

test('every variable that is missing or cannot be read is named at once', () => {
  let message = '';
  try {
    paymentAcceptanceOptionsFromEnv({ [`${P}PAYER_PAYS_COMMISSION`]: 'yes', [`${P}REQUESTS_PER_SECOND`]: 'many' });
  } catch (error) {
    message = String(error);
  }
  for (const name of ['API_BASE_URL', 'API_TOKEN', 'SHOP_ID', 'PAYER_PAYS_COMMISSION', 'REQUESTS_PER_SECOND']) {
    expect(message).toContain(`${P}${name} (shop "main")`);
  }
});

test('a variable that sets nothing is named in the log, without its value', () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
  const several = {
    [`${P}SHOPS`]: 'main,eu',
    [`${P}MAIN_API_TOKEN`]: 'a',
    [`${P}EU_API_TOKEN`]: 'b',
    [`${P}US_API_TOKEN`]: 'c',
  };
  paymentAcceptanceOptionsFromEnv({ ...one, ...several, [`${P}EU_CURRENCY`]: 'EUR' });
  for (let times = 0; times < 2; times += 1)
    paymentAcceptanceOptionsFromEnv({ ...one, [`${P}CURENCY`]: 'EUR', OTHER: '1' });
  paymentAcceptanceOptionsFromEnv({ ...one, [`${P}CURRENCY`]: 'EUR' });
  const lines = warn.mock.calls.map(([line]) => String(line));
  warn.mockRestore();
  expect(lines).toEqual([expect.stringContaining('end in that of no option: PAYMENT_ACCEPTANCE_CURENCY.')]);
});
