import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MAIN_TOKEN } from '../support/harness.js';
import { connectionOf, createTestDatabase, type TestDatabase } from '../support/database.js';

const folder = mkdtempSync(join(tmpdir(), 'payment-acceptance-program-'));
let database: TestDatabase;

describe('cli program', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(
      join(folder, 'data-source.js'),
      `import { DataSource } from 'typeorm';
     export default await Promise.resolve(new DataSource({ type: '${connectionOf(database.url).type}', url: process.env.MY_DATABASE }));`,
    );
    writeFileSync(
      join(folder, 'payments.config.js'),
      `export default () => ({ shops: { main: { shopId: '17', apiToken: process.env.MY_TOKEN, apiBaseUrl: 'http://127.0.0.1:9' } } });`,
    );
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await database.drop();
  });

  /** Runs the built program in a process and a folder of its own. */
  function program(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    const env = { PATH: process.env.PATH, MY_DATABASE: database.url, MY_TOKEN: MAIN_TOKEN };
    const main = resolve('libs/payment-acceptance/dist/esm/cli/main.js');
    return new Promise((done) => {
      execFile(process.execPath, [main, ...args], { cwd: folder, env }, (error, out, err) => {
        done({ code: error?.code ?? 0, out, err });
      });
    });
  }

  test('--help works for every command without installed packages and without a database', async () => {
    const bare = mkdtempSync(join(tmpdir(), 'payment-acceptance-bare-'));
    cpSync(resolve('libs/payment-acceptance/dist/esm'), bare, { recursive: true });
    const run = (...args: string[]) =>
      new Promise<{ code: unknown; out: string; err: string }>((done) => {
        execFile(process.execPath, [join(bare, 'cli/main.js'), ...args], { cwd: bare, env: {} }, (error, out, err) =>
          done({ code: error?.code ?? 0, out, err }),
        );
      });
    try {
      const { out: help } = await run('--help');
      const commands = Array.from(help.matchAll(/^ {2}([a-z-]+) /gm), ([, command = '']) => command);
      expect(commands).toEqual(expect.arrayContaining(['init', 'migrate', 'status', 'erase', 'recover']));
      const helped = await Promise.all(commands.map((command) => run(command, '--help')));
      expect(helped).toEqual(commands.map(() => ({ code: 0, out: help, err: '' })));
      expect(JSON.parse((await run('init', '--help', '--json')).out)).toEqual({ help });
    } finally {
      rmSync(bare, { recursive: true });
    }
  }, 60_000);

  test('the built program reads its data source and options from ES modules, and exits by itself', async () => {
    const files = ['--data-source', 'data-source.js', '--config', 'payments.config.js'];
    expect(await program('status', ...files)).toMatchObject({ code: 2, out: '' });
    expect(await program('migrate', '-d', 'data-source.js')).toEqual({
      code: 0,
      out: 'The tables are up to date.\n',
      err: '',
    });
    expect(await program('status', ...files)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^status +up\n/),
      err: '',
    });
    const doctor = await program('doctor', ...files, '--json');
    expect(doctor).toMatchObject({ code: 1, err: '' });
    expect(JSON.parse(doctor.out)).toContainEqual(expect.objectContaining({ name: 'reachable', verdict: 'different' }));
    expect(await program()).toMatchObject({ code: 2, err: expect.stringContaining('Missing command.') });
  }, 60_000);

  test("the built program reads .env in its folder, and keeps the host's output out of its result", async () => {
    writeFileSync(join(folder, '.env'), `MY_DATABASE=nothing\nDATABASE_URL=${database.url}\nNODE_ENV=production\n`);
    // DATABASE_URL is in the file alone.
    expect(await program('migrate')).toMatchObject({ code: 0, err: '' });
    writeFileSync(
      join(folder, 'loud.config.js'),
      `console.log('a banner'); process.stdout.write('and ' + process.env.NODE_ENV + '\\n');
       export default { shops: { main: { shopId: '17', apiToken: process.env.MY_TOKEN, apiBaseUrl: 'https://pay.example' } } };`,
    );
    const loud = await program('status', '-d', 'data-source.js', '-c', 'loud.config.js', '--json');
    expect(loud).toMatchObject({ code: 0, err: expect.stringContaining('a banner\nand production\n') });
    expect(JSON.parse(loud.out)).toMatchObject({ status: 'up' });
    rmSync(join(folder, '.env'));
  }, 60_000);

  test('the built program exits although its options have opened something', async () => {
    writeFileSync(
      join(folder, 'open.config.js'),
      `setInterval(() => undefined, 60_000);
       export default { shops: { main: { shopId: '17', apiToken: process.env.MY_TOKEN, apiBaseUrl: 'http://127.0.0.1:9' } } };`,
    );
    const { code, out } = await program('status', '-d', 'data-source.js', '-c', 'open.config.js');
    expect([code, out]).toEqual([0, expect.stringMatching(/^status +up\n/)]);
  }, 60_000);

  test('the built program examines the service without a database', async () => {
    const { code, out, err } = await program('doctor', '-c', 'payments.config.js');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('No database is configured') });
    expect(out).toContain('callbacks      POST /postback/payment[/SHOP]\n');
    expect(out).toMatch(/different +main: reachable/);
  }, 60_000);

  test('the built program explains how to load a TypeScript file', async () => {
    writeFileSync(join(folder, 'data-source.ts'), 'export default 1 as number;');
    const { code, out, err } = await program('migrate', '--data-source', 'data-source.ts');
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(
      'Pass the compiled file, such as --data-source dist/data-source.js, or use a TypeScript loader',
    );
  }, 60_000);
});
