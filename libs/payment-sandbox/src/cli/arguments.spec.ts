import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { help, readArguments, UsageError } from './arguments.js';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-arguments-'));

const fileOf = (text: string): string => {
  const file = join(folder, 'shops.json');
  writeFileSync(file, text);
  return file;
};

describe('the command line of the sandbox', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  test('without arguments the sandbox starts two demo shops in memory, for an application on port 3000', () => {
    const options = readArguments([], { SANDBOX_PORT: '', SANDBOX_DATA: '' });
    expect(options).toMatchObject({ port: 4010, processingTime: '500ms' });
    expect(options).not.toHaveProperty('dataDir');
    expect(options?.shops).toMatchObject({
      'demo-main': { resultUrl: 'http://127.0.0.1:3000/postback/payment' },
      'demo-eu': { successUrl: 'http://127.0.0.1:3000/redirect/payment/success/eu' },
    });
  });

  test('arguments of the sandbox take precedence over the environment', () => {
    const env = {
      SANDBOX_PORT: '1',
      SANDBOX_DATA: 'a',
      SANDBOX_SHOP_URL: 'http://a.test/',
      SANDBOX_PAY_URL: 'http://b.test/?x=1',
    };
    expect(readArguments([], env)).toMatchObject({
      port: 1,
      dataDir: resolve('a'),
      payUrl: 'http://b.test',
      shops: { 'demo-main': { failUrl: 'http://a.test/redirect/payment/fail' } },
    });
    expect(readArguments(['-p', '0', '--data=c', '-s', 'http://d.test', '--processing-time', '0s'], env)).toMatchObject(
      {
        port: 0,
        dataDir: resolve('c'),
        processingTime: '0s',
        shops: { 'demo-main': { failUrl: 'http://d.test/redirect/payment/fail' } },
      },
    );
  });

  test('the sandbox listens on another host, and answers to more host names, only where it is told to', () => {
    expect(readArguments([], {})).toMatchObject({ host: '127.0.0.1', controlHosts: [], log: 'all', diagnose: false });
    const env = { SANDBOX_HOST: '0.0.0.0', SANDBOX_CONTROL_HOSTS: 'sandbox, other' };
    expect(readArguments(['--log=none', '--diagnose=yes'], env)).toMatchObject({
      host: '0.0.0.0',
      controlHosts: ['sandbox', 'other'],
      log: 'none',
      diagnose: true,
    });
  });

  test('an empty --data keeps the sandbox in memory, whatever the environment says', () => {
    expect(readArguments(['--data', ''], { SANDBOX_DATA: 'a' })).not.toHaveProperty('dataDir');
  });

  test('the help of the sandbox lists every option and its variable', () => {
    const shown = help('command', 'in memory');
    for (const option of [
      'port',
      'host',
      'control-hosts',
      'data',
      'shop-url',
      'shops',
      'pay-url',
      'processing-time',
      'log',
      'diagnose',
    ]) {
      expect(shown).toContain(` --${option} `);
      expect(shown).toContain(`SANDBOX_${option.replace('-', '_').toUpperCase()}`);
    }
  });

  test('shops from a file replace the demo shops of the sandbox', () => {
    const shops = { 17: { apiToken: 'token' } };
    expect(readArguments(['--shops', fileOf(JSON.stringify(shops))], {})?.shops).toEqual(shops);
  });

  test.each([['-h'], ['--help', '--port', 'any']])('the sandbox is asked for help with %s', (...args) => {
    expect(readArguments(args, {})).toBeUndefined();
  });

  test.each([
    ['an unknown option', ['--posrt', '1'], '--help'],
    ['a word', ['start'], 'start'],
    ['a port that is none', ['--port', '70000'], 'from 0 to 65535, not "70000"'],
    ['a log that is none', ['--log', 'some'], 'one of all, problems, none, not "some"'],
    ['a diagnosis that is neither', ['--diagnose', 'maybe'], 'must be yes or no, not "maybe"'],
    [
      'an address without a scheme',
      ['--shop-url', 'localhost:3000'],
      "Your application's address (--shop-url, SANDBOX_SHOP_URL) must be",
    ],
    [
      'payment pages below a path',
      ['--pay-url', 'http://b.test/pay'],
      '(--pay-url, SANDBOX_PAY_URL) must have no path, not "/pay"',
    ],
    [
      'a word as an address',
      ['--pay-url', 'x'],
      '(--pay-url, SANDBOX_PAY_URL) must be an http or https address, not "x"',
    ],
    [
      'a duration that is none',
      ['--processing-time', '5'],
      'The processing time (--processing-time, SANDBOX_PROCESSING_TIME) must be',
    ],
    [
      'a file as the folder',
      ['--data', process.execPath],
      `The folder for the state (--data, SANDBOX_DATA) is a file: ${process.execPath}`,
    ],
    ['a file that is not there', ['--shops', join(folder, 'none.json')], 'ENOENT'],
  ])('the sandbox refuses %s and says what is wrong', (_what, args, text) => {
    expect(() => readArguments(args, {})).toThrow(UsageError);
    expect(() => readArguments(args, {})).toThrow(text);
  });

  test.each([
    ['[]', 'a JSON object of shops by id'],
    ['{', 'JSON'],
    ['{}', 'defines no shop'],
    ['{"17":{}}', 'the shop "17": A new shop needs an apiToken'],
    ['{"17":{"apiToken":"t","resultUrl":"localhost"}}', 'the shop "17": resultUrl must be an http or https address'],
    ['{"17":{"apiToken":"t","resultURL":"x"}}', 'the shop "17": Shop settings: unknown field "resultURL"'],
    ['{"1":{"apiToken":"t"},"2":{"apiToken":"t"}}', 'the shop "2": The shop 1 already has this apiToken'],
    ['{"a b":{"apiToken":"t"}}', 'the shop "a b": A shop id must be'],
    ['{"1":7}', 'the shop "1": Shop settings must be a JSON object'],
  ])('the sandbox refuses a shops file of %s and says why', (content, text) => {
    expect(() => readArguments(['--shops', fileOf(content)], {})).toThrow(UsageError);
    expect(() => readArguments(['--shops', fileOf(content)], {})).toThrow(text);
    expect(() => readArguments(['--shops', fileOf(content)], {})).toThrow(join(folder, 'shops.json'));
  });
});
