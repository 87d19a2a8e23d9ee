import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readArguments, UsageError } from '../arguments.js';
import { manifestIn } from '../../peers/installed-package.js';
import { examine, type Examination } from './examine.js';
import { init } from './init.js';
import { lookAtHost, type Host } from './look-at-host.js';

type Files = Record<string, string | object>;

const OWN = manifestIn(join(import.meta.dirname, '../../..'))!;

const NEST_11 = {
  '@nestjs/common': '^11.0.0',
  '@nestjs/core': '^11.0.0',
  '@nestjs/platform-express': '^11.0.0',
  'reflect-metadata': '^0.2.0',
  rxjs: '7.8.1',
};
const NEST_12 = {
  '@nestjs/common': '12.5.1',
  '@nestjs/core': '12.5.1',
  '@nestjs/platform-fastify': '^12.0.0',
  'reflect-metadata': '^0.2.0',
  rxjs: '^7.8.0',
};

/** An application with pins, as its owner has left it. */
const PINNED: Files = {
  'package.json': {
    dependencies: { ...NEST_11, '@nestjs/typeorm': '11.0.0', typeorm: '0.3.28', pg: '8.11.3' },
    devDependencies: { jest: '^30.0.0' },
  },
  'package-lock.json': { packages: { 'node_modules/@nestjs/common': { version: '11.1.6' } } },
  'tsconfig.json': {},
  '.env': "DATABASE_URL=postgres://me:secret-of-mine@db/shop\nPAYMENT_ACCEPTANCE_API_TOKEN='secret-of-mine'\n",
  'src/main.ts': `
    import { NestFactory } from '@nestjs/core';
    import { AppModule } from './app.module';
    // app.setGlobalPrefix('old');
    const app = await NestFactory.create(AppModule);
    app.setGlobalPrefix('/api/v1');
    app.enableVersioning({ type: VersioningType.URI });
    app.useGlobalPipes(new ValidationPipe({ whitelist: true }));
    await app.listen(3000);`,
  'src/app.module.ts': `
    import { OrdersModule } from './orders/orders.module';
    @Module({ imports: [ConfigModule.forRoot(), TypeOrmModule.forRootAsync({ useFactory: () => ({ type: 'postgres' }) })] })
    export class AppModule {}`,
  'test/setup.ts': `app.setGlobalPrefix('test')`,
};

describe('init', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'init-')));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(files: Files): void {
    for (const [file, content] of Object.entries(files)) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
    }
  }

  function run(home = '', ...options: string[]): { code: number; out: string; err: string } {
    const ran = { code: 0, out: '', err: '' };
    const given = readArguments(['init', ...options])!;
    ran.code = init(given, join(folder, home), {
      out: (text) => void (ran.out += text),
      err: (text) => void (ran.err += text),
    });
    return ran;
  }

  function examined(files: Files, home = ''): Examination & { code: number } {
    write(files);
    const { code, out } = run(home, '--json');
    return { ...(JSON.parse(out) as Examination), code };
  }

  /** Every file with its content and the time of its last change. */
  function contents(): [string, number, string][] {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .map((file) => [file, statSync(file).mtimeMs, statSync(file).isFile() ? readFileSync(file, 'utf8') : '']);
  }

  test('prints the command and the lines, names where it has found what, shows no secret and changes nothing', () => {
    write(PINNED);
    const before = contents();
    const { code, out, err } = run();
    expect([code, err]).toEqual([0, '']);
    expect(out.replaceAll(folder, '/shop')).toMatchInlineSnapshot(`
      "Found in /shop:
        NestJS 11.1.6 (package-lock.json) on Express, CommonJS, Jest
        TypeORM 0.3.28 (package.json: 0.3.28)
        database: type: 'postgres' (src/app.module.ts)
        npm (package-lock.json)
        start: src/main.ts
        its module: src/app.module.ts
        data source: TypeOrmModule.forRootAsync (src/app.module.ts)
        global prefix: setGlobalPrefix('/api/v1') (src/main.ts)
        versioning (src/main.ts): the callbacks have no version
        global ValidationPipe (src/main.ts): the callbacks work with it

      1. Install what is missing; nothing that is there changes:
        npm install nestjs-payment-acceptance@0.1 @nestjs/axios@4 @nestjs/config@4 @nestjs/event-emitter@3 axios@1 class-transformer@0.5 class-validator@0.14
        npm install --save-dev nestjs-payment-sandbox@0.1

      2. Add these lines:

        .env, at the end:

          PAYMENT_ACCEPTANCE_API_BASE_URL=http://127.0.0.1:4010
          PAYMENT_ACCEPTANCE_SHOP_ID=demo-main

        src/order-payments.ts, a new file:

          import { Injectable } from '@nestjs/common';
          import {
            OnPaymentSucceeded,
            PaymentAcceptanceService,
            requireOrder,
            type PaymentEventContext,
            type PaymentSucceededEvent,
          } from 'nestjs-payment-acceptance';

          @Injectable()
          export class OrderPayments {
            constructor(private readonly payments: PaymentAcceptanceService) {}

            // Call it in your checkout, once the order is stored, and send the payer to the address. The amount is a decimal, as '100.05'.
            async start(order: { id: string | number; amount: string }): Promise<string> {
              const bill = await this.payments.createBill({ orderId: String(order.id), amount: order.amount });
              return bill.linkPageUrl;
            }

            // 'Order' is the name of your entity, and these are its columns: leave out currency if your orders have none. Until they are
            // right the update throws, and the event is tried again, for a day at least.
            @OnPaymentSucceeded({ consumer: 'orders' })
            async paid(event: PaymentSucceededEvent, { manager }: PaymentEventContext): Promise<void> {
              const { orderId: id, billedAmount: amount, currency } = event;
              requireOrder(event, await manager.update('Order', { id, amount, currency }, { status: 'paid' }));
            }
          }

        src/app.module.ts, at the top:

          import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';
          import { OrderPayments } from './order-payments';

        src/app.module.ts, in the imports of @Module, at their end:

          PaymentAcceptanceModule.forRootAsync({ useFactory: () => paymentAcceptanceOptionsFromEnv() }),

        src/app.module.ts, in the providers of @Module:

          OrderPayments,

        src/main.ts, before app.listen():

          app.enableShutdownHooks();

      3. In development, start the sandbox of the service (put the port of your application in the place of 3000):
        npx nestjs-payment-sandbox --data .data/sandbox --shop-url http://127.0.0.1:3000/api/v1

      4. In production, before the application starts (elsewhere it makes its tables by itself):
        npx payment-acceptance migrate
        with DATABASE_URL set, or with --data-source FILE, a file that exports the DataSource

      5. Enter at the service (a further shop adds /NAME):
        Success URL  https://your.example/api/v1/redirect/payment/success
        Fail URL     https://your.example/api/v1/redirect/payment/fail
        Result URL   https://your.example/api/v1/postback/payment

      To check:
        The values for .env are those of the sandbox, which nestjs-payment-sandbox starts. In production: the https address of the service, and the id and the token of your shop.
      "
    `);
    expect(out).not.toContain('secret');
    expect(contents()).toEqual(before);
  });

  test('asks only for what is missing, in versions that fit NestJS 11', () => {
    const { install, addresses, fits } = examined(PINNED);
    expect(fits).toBe(true);
    expect(install.commands).toEqual([
      'npm install nestjs-payment-acceptance@0.1 @nestjs/axios@4 @nestjs/config@4 @nestjs/event-emitter@3 axios@1 ' +
        'class-transformer@0.5 class-validator@0.14',
      'npm install --save-dev nestjs-payment-sandbox@0.1',
    ]);
    expect(addresses).toEqual({
      'Success URL': 'https://your.example/api/v1/redirect/payment/success',
      'Fail URL': 'https://your.example/api/v1/redirect/payment/fail',
      'Result URL': 'https://your.example/api/v1/postback/payment',
    });
  });

  test('asks for everything beside NestJS 12 without TypeORM, in ES modules on Fastify', () => {
    const { install, edits, found } = examined({
      'package.json': { type: 'module', dependencies: NEST_12, devDependencies: { vitest: '^4.1.0' } },
      'pnpm-lock.yaml': 'importers:\n  .:\n    dependencies:\n',
      'tsconfig.json': {},
      'src/main.ts': `import { AppModule } from './app.module.js';
        const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter());`,
      'src/app.module.ts': 'export class AppModule {}',
    });
    expect(install.commands).toEqual([
      'pnpm add nestjs-payment-acceptance@0.1 @nestjs/axios@12 @nestjs/config@12 @nestjs/event-emitter@12 @nestjs/typeorm@12 ' +
        'axios@1 class-transformer@0.5 class-validator@0.15 typeorm@1 pg@8',
      'pnpm add --save-dev nestjs-payment-sandbox@0.1',
    ]);
    expect(found[0]).toBe('NestJS 12.5.1 (package.json: 12.5.1) on Fastify (src/main.ts), ES modules, Vitest');
    const code = edits.map(({ file, place, code }) => `${file} ${place}: ${code}`).join('\n');
    expect(code).toContain(`.env end: DATABASE_URL=`);
    expect(code).toContain(`from './order-payments.js'`);
    expect(code).toContain(`type: 'postgres', url: process.env.DATABASE_URL`);
  });

  describe('from a packed file', () => {
    /** As npx leaves it in its cache. */
    function commands(files: Files): readonly string[] {
      write({
        ...PINNED,
        ...files,
        'npx/package.json': {
          dependencies: { 'nestjs-payment-acceptance': 'file:../packed/nestjs-payment-acceptance-0.1.0.tgz' },
        },
        'npx/node_modules/nestjs-payment-acceptance/package.json': OWN,
      });
      const own = { folder: join(folder, 'npx/node_modules/nestjs-payment-acceptance'), manifest: OWN };
      const { install, notes } = examine(lookAtHost(folder) as Host, own, '20.19.0');
      return [...install.commands, ...notes];
    }

    test('names that file, and the one of the sandbox beside it', () => {
      const [command, forTests] = commands({ 'packed/nestjs-payment-sandbox-0.1.0.tgz': '' });
      expect(command).toMatch(/^npm install \.\/packed\/nestjs-payment-acceptance-0\.1\.0\.tgz @nestjs\/axios@4 /);
      expect(forTests).toBe('npm install --save-dev ./packed/nestjs-payment-sandbox-0.1.0.tgz');
    });

    test('names it for Yarn with the name of the package, and says which file is not there', () => {
      const [command, note] = commands({
        'package.json': { ...(PINNED['package.json'] as object), packageManager: 'yarn@4.9.1' },
      });
      expect(command).toMatch(
        /^yarn add nestjs-payment-acceptance@file:\.\/packed\/nestjs-payment-acceptance-0\.1\.0\.tgz @nestjs\/axios@4 /,
      );
      expect(note).toMatch(/^nestjs-payment-sandbox-0\.1\.0\.tgz, .* is not beside/);
    });
  });

  test('says nothing more where everything is there', () => {
    const peers = Object.fromEntries(
      [
        'axios@1.7.0',
        'class-transformer@0.5.1',
        'class-validator@0.14.2',
        '@nestjs/axios@4.0.1',
        '@nestjs/config@4.0.2',
      ]
        .concat('@nestjs/event-emitter@3.1.0', 'nestjs-payment-acceptance@0.1.0', 'nestjs-payment-sandbox@0.1.0')
        .map((each) => [each.slice(0, each.lastIndexOf('@')), each.slice(each.lastIndexOf('@') + 1)]),
    );
    const { dependencies } = PINNED['package.json'] as { dependencies: object };
    const { install, edits } = examined({
      ...PINNED,
      'package.json': { dependencies: { ...dependencies, ...peers } },
      '.env': 'PAYMENT_ACCEPTANCE_SHOPS=a,b',
      'src/app.module.ts':
        'class AppModule {} PaymentAcceptanceModule.forRoot() TypeOrmModule.forRoot() @OnPaymentSucceeded',
      'src/main.ts': 'NestFactory.create(AppModule) app.enableShutdownHooks()',
    });
    expect([install.commands, edits]).toEqual([[], []]);
    expect(run().out).toContain('1. Every package is there.\n\n2. Every line is there.');
  });

  test('looks at the root of the repository for the lockfile, and for packages', () => {
    const { install, code } = examined(
      {
        'package.json': {
          workspaces: ['apps/*'],
          devDependencies: { typeorm: '0.3.28', pg: '8.11.3', '@nestjs/axios': '4.0.0' },
        },
        'yarn.lock': '"@nestjs/common@npm:^11.0.0":\n  version: 11.0.7\n',
        'apps/api/package.json': { dependencies: NEST_11 },
        'apps/api/src/main.ts': '',
      },
      'apps/api',
    );
    expect(code).toBe(0);
    expect(install.commands[0]).toMatch(
      /^yarn add nestjs-payment-acceptance@0\.1 @nestjs\/config@4 @nestjs\/event-emitter@3 /,
    );
    expect(install.commands[0]).not.toMatch(/ (typeorm|pg)@/);
    expect(run('apps/api').out).toContain('NestJS 11.0.7 (yarn.lock)');
    expect(run()).toEqual({
      code: 1,
      out: '',
      err: `${folder} is the root of several packages. Run this in the folder of your application: apps/api.\n`,
    });
  });

  test.each<[string, Files, string]>([
    ['nothing is there', {}, 'has no package.json'],
    ['it is no NestJS application', { 'package.json': {} }, 'this is no NestJS application'],
  ])('ends with a sentence and 1 where %s', (_, files, sentence) => {
    write(files);
    const { code, out, err } = run();
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(sentence);
    const { error } = JSON.parse(run('', '--json').out) as { error: object };
    expect(error).toMatchObject({ code: 'no-application', message: expect.stringContaining(sentence) });
  });

  const app = (dependencies: object, source = ''): Files => ({
    'package.json': { dependencies: { ...NEST_11, ...dependencies }, devDependencies: { jest: '^30.0.0' } },
    'src/app.module.ts': source,
  });
  test.each<[string, Files, RegExp]>([
    [
      'NestJS 10',
      app({ '@nestjs/common': '^10.4.0' }),
      /^NestJS 10\.4\.0 .* needed is \^11\.0\.0 .* upgrade the application/,
    ],
    [
      'TypeORM 0.2',
      app({ typeorm: '0.2.45' }),
      /^typeorm 0\.2\.45 .* needed is .*: upgrade it, npm install typeorm@0\.3$/,
    ],
    [
      'MySQL',
      app({ mysql2: '3' }, `TypeOrmModule.forRoot({ type: 'mysql' })`),
      /^src\/app\.module\.ts has type: 'mysql', and MySQL is not supported: write/,
    ],
    [
      'SQLite',
      app({}, `new DataSource({ type: 'better-sqlite3' })`),
      /better-sqlite3', which is not supported: give the payments/,
    ],
    [
      'a newer @nestjs/axios with Jest',
      app({ '@nestjs/axios': '12.0.1' }),
      /does not go with NestJS 11.0.0 and Jest: npm install @nestjs\/axios@4$/,
    ],
    [
      'an older @nestjs/axios',
      app({ ...NEST_12, '@nestjs/axios': '4.0.1' }),
      /^@nestjs\/axios 4\.0\.1 .* NestJS 12\.5\.1 .*@nestjs\/axios@12$/,
    ],
  ])('refuses %s in one sentence, and prints no command to install', (_, files, sentence) => {
    const { code, fits, flaws } = examined(files);
    expect([code, fits, flaws]).toEqual([1, false, [expect.stringMatching(sentence)]]);
    const { out } = run();
    expect(out).toContain(`This has to change first:\n  ${flaws[0]}\n`);
    expect(out).not.toContain('nestjs-payment-acceptance@');
  });

  test('refuses an old Node.js', () => {
    write(PINNED);
    const { flaws } = examine(lookAtHost(folder) as Host, { folder, manifest: OWN }, '18.20.4');
    expect(flaws).toEqual(['Node.js 18.20.4 runs this, needed is >=20.19: install a newer one.']);
  });

  test('takes a newer @nestjs/axios beside NestJS 11 for fitting where Jest imports', () => {
    const { fits } = examined({
      'package.json': {
        dependencies: { ...NEST_11, '@nestjs/axios': '12.0.1' },
        devDependencies: { jest: '30.0.0' },
        scripts: { test: 'node --experimental-vm-modules node_modules/.bin/jest' },
      },
    });
    expect(fits).toBe(true);
  });

  test.each([
    ['module', './order-payments.js'],
    ['commonjs', './order-payments'],
  ])('writes relative imports for "type": "%s" where the application has none', (type, specifier) => {
    const { edits } = examined({ 'package.json': { type, dependencies: NEST_11 } });
    expect(edits.map(({ code }) => code).join('\n')).toContain(`import { OrderPayments } from '${specifier}';`);
  });

  test('says what it cannot tell, and what to check', () => {
    const { fits, notes, addresses } = examined({
      ...PINNED,
      'src/main.ts': `NestFactory.create(AppModule, { bodyParser: false }); app.setGlobalPrefix('v' + config.version);`,
      'src/connector.ts': `export const connector = { type: 'oracle' };`,
      'src/app.module.ts': `class AppModule {} { provide: APP_GUARD, useClass: JwtGuard } TypeOrmModule.forRootAsync(a) TypeOrmModule.forRoot(b)`,
    });
    expect(fits).toBe(true);
    expect(addresses['Result URL']).toBe('https://your.example/GLOBAL-PREFIX/postback/payment');
    expect(notes).toEqual([
      expect.stringContaining('those of the sandbox'),
      expect.stringContaining('The global prefix is not one plain text'),
      expect.stringContaining('src/app.module.ts: provide: APP_GUARD: if it turns away callers without a session'),
      expect.stringContaining('src/main.ts has bodyParser: false'),
      expect.stringContaining('There are several data sources'),
      expect.stringContaining('The type of the database is not written as text'),
    ]);
  });

  test('takes no options of the commands that need a configuration', () => {
    expect(() => readArguments(['init', '--config', 'a.js'])).toThrow(new UsageError('init takes no --config.'));
  });
});
