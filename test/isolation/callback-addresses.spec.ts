import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger, VersioningType } from '@nestjs/common';
import { PaymentConfigurationError } from 'nestjs-payment-acceptance';
import { VERSION } from '../../libs/payment-acceptance/src/common/version.js';
import { resolveOptions } from '../../libs/payment-acceptance/src/config/resolve-options.js';
import { ADAPTERS } from '../support/adapters.js';
import { moduleOptions, startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';

describe('addresses of the callbacks', () => {
  let harness: Harness | undefined;
  let logged: string[];
  beforeEach(() => {
    logged = [];
    for (const level of ['log', 'error'] as const) {
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((line: unknown) => void logged.push(`${level} ${String(line)}`));
    }
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness?.close();
    harness = undefined;
  });
  const saidAtStart = () => logged.filter((line) => line.startsWith('log started: '));
  const prefixed: HarnessOptions['prepare'] = (app) => {
    app.setGlobalPrefix('/api/');
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' });
  };
  const fields = postbackFields({ InvId: 'A-1', OutSum: '10.00', TrsId: 'b-1' });

  describe.each(ADAPTERS)('on %s', (adapter) => {
    test('the start logs the callback addresses as the host serves them', async () => {
      harness = await startHarness({
        adapter,
        prepare: prefixed,
        extras: { routes: { path: 'shop' } },
        options: { publicUrl: 'https://shop.example/base/' },
      });
      expect(saidAtStart()).toEqual([
        `log started: nestjs-payment-acceptance is ready. { version: '${VERSION}', role: 'all', shops: 2, routes: [ ` +
          "'POST https://shop.example/base/api/shop/redirect/payment/success[/SHOP]', " +
          "'POST https://shop.example/base/api/shop/redirect/payment/fail[/SHOP]', " +
          "'POST https://shop.example/base/api/shop/postback/payment[/SHOP]' ] }",
      ]);
      expect((await postJson(`${harness.host.url}/api/shop/postback/payment`, fields)).status).toBe(200);
    });

    test('a callback sent without the global prefix is logged once, with the right address', async () => {
      harness = await startHarness({ adapter, prepare: prefixed });
      const { url } = harness.host;
      for (const path of [
        '/postback/payment',
        '/postback/payment/eu?x=1',
        '/postback/payment',
        '/postback',
        '/other',
      ]) {
        expect((await postJson(url + path, fields)).status).toBe(404);
      }
      expect((await postJson(`${url}/api/postback/payment`, fields)).status).toBe(200);
      expect(logged.filter((line) => line.startsWith('error'))).toEqual([
        'error callback-misaddressed: A callback to /postback/payment got 404: the application serves callbacks at ' +
          '/api/postback/payment. Enter /api/postback/payment at the service.',
      ]);
    });

    test('a global prefix that excludes the callbacks does not change their logged addresses', async () => {
      const prepare: HarnessOptions['prepare'] = (app) =>
        void app.setGlobalPrefix('api', { exclude: ['redirect/*path', 'postback/*path'] });
      harness = await startHarness({ adapter, prepare });
      expect(saidAtStart()).toEqual([expect.stringMatching(/full URLs here\. .*'POST \/postback\/payment\[\/SHOP\]'/)]);
    });
  });
});

describe('publicUrl', () => {
  const problemOf = (publicUrl: unknown, environment?: string): string => {
    try {
      resolveOptions({ ...moduleOptions('https://api.example'), publicUrl: publicUrl as string }, environment);
      return '';
    } catch (error) {
      expect(error).toBeInstanceOf(PaymentConfigurationError);
      return String((error as PaymentConfigurationError).problems.find((problem) => problem.startsWith('publicUrl: ')));
    }
  };

  test.each([
    'shop.example',
    'ftp://shop.example',
    'https://a:b@shop.example',
    'https://a.example/?x',
    ' https://a',
    '',
    7,
  ])('publicUrl %p is refused', (publicUrl) => {
    expect(problemOf(publicUrl)).toMatch(/Set it to the base address at which the service reaches the application/);
  });

  test('publicUrl must be https in production', () => {
    expect(problemOf('http://shop.example')).toBe('');
    expect(problemOf('http://shop.example', 'production')).toMatch(/is not https, but NODE_ENV is production/);
  });
});
