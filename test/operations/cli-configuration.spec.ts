import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { connectionOf } from '../support/database.js';
import { commandsOf, environmentOf, runCommand, type Commands, type Ran } from '../support/commands.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;
let commands: Commands;

describe('cli configuration', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    commands = commandsOf(harness);
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  const command = (line: string, more: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    runCommand(line.split(' '), { ...environmentOf(harness), ...more });

  test('the CLI reads a file that exports the data source, and one that exports the options or a function', async () => {
    const typeorm = JSON.stringify(createRequire(join(process.cwd(), 'package.json')).resolve('typeorm'));
    const source = commands.file(
      'data-source.cjs',
      `const { DataSource } = require(${typeorm});
     module.exports.AppDataSource = new DataSource({ type: '${connectionOf(harness.databaseUrl).type}', url: process.env.CLI_TEST_DATABASE_URL,
       dropSchema: true, synchronize: true, migrationsRun: true, entities: [] });`,
    );
    const shop = JSON.stringify({ shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: harness.sandboxUrl });
    const options = commands.file(
      'options.cjs',
      `module.exports = { default: async () => ({ shops: { main: ${shop} } }) };`,
    );
    process.env.CLI_TEST_DATABASE_URL = harness.databaseUrl;
    await harness.host.payments.createBill({ orderId: 'kept', amount: '10' });
    const before = (await harness.host.ledger()).bills.length;
    const none = Object.fromEntries(Object.keys(environmentOf(harness)).map((name) => [name, undefined]));
    expect(await command(`doctor -d ${source} -c ${options}`, none)).toMatchObject({
      code: 0,
      out: expect.stringContaining('confirmed      main: reachable'),
    });
    delete process.env.CLI_TEST_DATABASE_URL;
    // `dropSchema` in the host's file was ignored: neither our tables nor the host's are gone.
    expect((await harness.host.ledger()).bills.length).toBe(before);
    expect(await harness.effects()).toEqual([]);
  });

  test.each([
    ['a name and by default', 'exports.default = exports.source = source', 0, /up to date/],
    ['a promise', 'exports.source = Promise.resolve(source)', 0, /up to date/],
    ['itself', 'module.exports = source', 0, /up to date/],
    ['two', 'exports.a = source; exports.b = make()', 2, /exports 2 data sources/],
    ['a function', 'exports.default = make', 2, /exports no DataSource/],
    ['a promise that is rejected', 'exports.default = Promise.reject(new Error("no vault"))', 2, /Error: no vault/],
    ['an error', 'throw new Error("at import")', 2, /--data-source: Error: at import/],
  ])('the CLI reads a file that exports the data source as %s', async (name, exports, code, said) => {
    const typeorm = JSON.stringify(createRequire(join(process.cwd(), 'package.json')).resolve('typeorm'));
    const { type } = connectionOf(harness.databaseUrl);
    const file = commands.file(
      `${name.replaceAll(' ', '-')}.cjs`,
      `const { DataSource } = require(${typeorm});
       const make = () => new DataSource({ type: '${type}', url: '${harness.databaseUrl}' });
       const source = make();
       ${exports};`,
    );
    const ran = await command(`migrate -d ${file}`);
    expect(ran.code).toBe(code);
    expect(ran.out + ran.err).toMatch(said);
  });

  test.each([
    [
      'status',
      { DATABASE_URL: '' },
      `DATABASE_URL is set neither in the environment nor in ${join(process.cwd(), '.env')}`,
    ],
    [
      'status',
      { PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: '' },
      'PAYMENT_ACCEPTANCE_MAIN_API_TOKEN (shop "main"): is not set',
    ],
    ['status -d /nowhere.cjs', {}, '--data-source: '],
    ['status -c /nowhere.cjs', {}, '--config: '],
    ['status', { PAYMENT_ACCEPTANCE_MAIN_API_TOKEN: 'changeme' }, 'shops.main.apiToken: is a placeholder'],
  ])('the CLI command %s without its configuration exits with 2 and says what to do', async (line, more, sentence) => {
    const { code, err, out } = await command(line, more);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(sentence);
  });

  test('the CLI exits with 1 for an unreachable database, and shows no password', async () => {
    const { code, err } = await command('status', { DATABASE_URL: 'postgres://me:my-password@127.0.0.1:9/none' });
    expect(code).toBe(1);
    expect(err).toContain('ECONNREFUSED');
    expect(err).not.toContain('my-password');
  });
});
