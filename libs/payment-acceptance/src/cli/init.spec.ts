import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments, UsageError } from './arguments.js';
import { init } from './init.js';

describe('init', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'init-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function run(files: Record<string, object | string>, { home = '', options = ['--json'] } = {}) {
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(join(folder, file, '..'), { recursive: true });
      writeFileSync(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
    }
    const ran = { code: 0, out: '', err: '' };
    ran.code = init(readArguments(['init', ...options])!, join(folder, home), {
      out: (text) => void (ran.out += text),
      err: (text) => void (ran.err += text),
    });
    return ran;
  }

  function told(...given: Parameters<typeof run>) {
    const { out } = run(...given);
    return JSON.parse(out) as {
      install: string[];
      edits: { file: string; place: string; code: string }[];
      sandbox: string;
    };
  }

  const manifest = (nest: string, more: object = {}) => ({ dependencies: { '@nestjs/common': nest, ...more } });
  const listing = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => [
      file,
      statSync(join(folder, file)).mtimeMs,
    ]);

  test('init prints the install command, the code and the variables, and changes no file', () => {
    const files = {
      'package.json': manifest('^11.0.0', {
        '@nestjs/core': '^11.0.0',
        '@nestjs/typeorm': '11.0.0',
        typeorm: '0.3.28',
        pg: '8',
      }),
      'package-lock.json': {},
    };
    run(files);
    const before = listing();
    const { code, out, err } = run({}, { options: [] });
    expect([code, err, listing()]).toEqual([0, '', before]);
    for (const line of [
      'npm install nestjs-payment-acceptance@0.1 @nestjs/axios@4 @nestjs/config@4 @nestjs/event-emitter@3 axios@1 class-transformer@0.5 class-validator@0.14 reflect-metadata@0.2 rxjs@7\n',
      'npm install --save-dev nestjs-payment-sandbox@0.1\n',
      'PAYMENT_ACCEPTANCE_SHOP_ID=demo-main\n',
      `import { ConfigModule } from '@nestjs/config';\n`,
      'PaymentAcceptanceModule.forRootAsync({ useFactory: () => paymentAcceptanceOptionsFromEnv() }),\n',
      `import { OrderPayments } from './order-payments';\n`,
      '   src/main.ts, before app.listen():\n\n     app.enableShutdownHooks();\n',
      'npx nestjs-payment-sandbox --data .data/sandbox --shop-url http://127.0.0.1:3000\n',
      'npx payment-acceptance migrate\n',
    ]) {
      expect(out).toContain(line);
    }
    expect(out).not.toMatch(/TypeOrmModule|DATABASE_URL=/);
  });

  test('init lists all packages for NestJS 12 without TypeORM, with the package manager of a parent folder', () => {
    const files = { 'apps/shop/package.json': { ...manifest('^12.0.0'), type: 'module' }, 'pnpm-lock.yaml': '' };
    const { install, edits, sandbox } = told(files, { home: 'apps/shop' });
    expect(install[0]).toMatch(
      /^pnpm add nestjs-payment-acceptance@0\.1 @nestjs\/axios@12 .*@nestjs\/typeorm@12 .*typeorm@1 pg@8$/,
    );
    expect(sandbox).toMatch(/^pnpm exec /);
    expect(edits.map(({ file }) => file)).toEqual([
      '.env',
      'src/order-payments.ts',
      ...Array<string>(3).fill('src/app.module.ts'),
      'src/main.ts',
    ]);
    expect(edits.map(({ code }) => code).join('\n')).toMatch(
      /DATABASE_URL=[^]*TypeOrmModule[^]*'\.\/order-payments\.js'/,
    );
  });

  test('init pins versions where the application does, and installs packed files found in the folder', () => {
    const files = {
      'package.json': manifest('11.1.6', { mysql2: '3.11.0' }),
      'yarn.lock': '',
      'nestjs-payment-acceptance-0.1.0.tgz': '',
      'nestjs-payment-sandbox-0.1.0.tgz': '',
    };
    const [runtime, development] = told(files).install;
    expect(runtime).toMatch(
      /^yarn add --exact nestjs-payment-acceptance@file:\.\/nestjs-payment-acceptance-0\.1\.0\.tgz /,
    );
    expect(runtime).not.toContain(' pg@8');
    expect(development).toBe('yarn add --exact --dev nestjs-payment-sandbox@file:./nestjs-payment-sandbox-0.1.0.tgz');
  });

  test.each([
    ['@prisma/client', 'prismaTransactions(prisma)', 'tx.order.updateMany('],
    ['drizzle-orm', 'drizzleTransactions(pool,', 'tx.update(orders)'],
    ['drizzle-orm, postgres', 'postgres(process.env.DATABASE_URL!, options)', '{ count } = await tx.update('],
    ['kysely', 'kyselyTransactions(pool,', 'tx.updateTable('],
    ['knex', 'knexTransactions(db)', "tx('orders')"],
    ['@mikro-orm/core', 'mikroOrmTransactions(orm.em)', 'tx.nativeUpdate('],
    ['pg', 'pgTransactions(pool)', 'tx.query('],
    ['mysql2', 'mysql2Transactions(pool)', 'tx.query<'],
  ])('init prints a handler for the data layer it finds, without TypeORM: %s', (layer, transactions, statement) => {
    const packages = Object.fromEntries(layer.split(', ').map((name) => [name, '1']));
    const files = { 'package.json': manifest('^12.0.0', { ...packages, pg: '8' }) };
    if (layer === 'mysql2') files['package.json'] = manifest('^12.0.0', { mysql2: '3' });
    const { install, edits } = told(files);
    const code = edits.map((edit) => edit.code).join('\n');
    expect(code).toContain(transactions);
    expect(code).toContain(statement);
    expect(code).toContain('storage: { url: process.env.DATABASE_URL! }');
    expect(`${install.join(' ')}\n${code}`).not.toMatch(/typeorm|\bmanager\b|\.js'/);
  });

  test('init asks for no packages where all are installed', () => {
    const names = /@?[\w/-]+(?=@\d)/g;
    const { install } = told({ 'package.json': manifest('12.5.1') });
    const all = Object.fromEntries(
      install.flatMap((command) => [...command.matchAll(names)]).map(([name]) => [name, '1']),
    );
    expect(told({ 'package.json': manifest('12.5.1', all) }).install).toEqual([]);
  });

  test.each([
    ['no package.json', {}],
    ['a broken one', { 'package.json': '{' }],
    ['one without NestJS', { 'package.json': {} }],
  ])('init outside a NestJS application says where to run it: %s', (_what, files) => {
    expect(run(files, { options: [] })).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('in the folder of'),
    });
    expect(JSON.parse(run(files).out)).toMatchObject({ error: { code: 'no-application' } });
  });

  test('init refuses options of the commands that need a configuration', () => {
    expect(() => readArguments(['init', '--config', 'x.js'])).toThrow(UsageError);
  });
});
