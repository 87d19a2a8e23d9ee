import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Arguments } from './arguments.js';
import { ENV, handlerCode, LAYERS, moduleCode, TYPEORM_CODE, type PrintedLayer } from './init-code.js';
import { printFailure, printJson, type Output } from './output.js';

type Ranges = Readonly<Record<string, string>>;

interface Manifest {
  readonly version?: string;
  readonly type?: string;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface Edit {
  readonly file: string;
  readonly place: string;
  readonly code: string;
}

const PACKAGE_NAME = 'nestjs-payment-acceptance';
const require = createRequire(path.join(import.meta.dirname, 'init.js'));
const SANDBOX_PACKAGE = 'nestjs-payment-sandbox';
const PACKAGE_MANAGERS = {
  npm: { lockfile: 'package-lock.json', add: 'npm install', dev: '--save-dev', exact: '--save-exact', run: 'npx' },
  pnpm: { lockfile: 'pnpm-lock.yaml', add: 'pnpm add', dev: '--save-dev', exact: '--save-exact', run: 'pnpm exec' },
  yarn: { lockfile: 'yarn.lock', add: 'yarn add', dev: '--dev', exact: '--exact', run: 'yarn' },
} as const;

/**
 * Prints what an application adds to take payments: packages, lines, variables. Reads its package.json and the name of
 * its lockfile, and changes nothing. Needs none of the packages that the module is built on: they may not be installed
 * yet.
 * @returns the exit code: 1 if the folder is not that of a NestJS application
 */
export function init({ values }: Arguments, folder: string, output: Output): number {
  const host = manifestIn(folder);
  const declared = { ...host?.devDependencies, ...host?.dependencies };
  if (!host || declared['@nestjs/common'] === undefined) {
    const message =
      'There is no package.json here that depends on @nestjs/common. Run payment-acceptance init in the folder of a NestJS application.';
    printFailure(output, { code: 'no-application', message }, values.json === true);
    return 1;
  }
  const manager = managerOf(folder);
  const exact = Object.values(host.dependencies ?? {}).every((range) => !/^[\^~]/.test(range));
  const install = installCommands(folder, declared, exact, manager);
  const edits = editsFor(host, declared);
  const sandbox = `${manager.run} nestjs-payment-sandbox --data .data/sandbox --shop-url http://127.0.0.1:3000`;
  const migrate = `${manager.run} payment-acceptance migrate`;
  if (values.json) printJson(output, { install, edits, sandbox, migrate });
  else {
    output.out(
      (install.length > 0
        ? `1. Install what is missing; nothing already installed changes:\n\n${indent(install.join('\n'))}\n`
        : '1. Every package is installed.\n\n') +
        `2. Add these lines. The values for .env are those of the sandbox of step 3:\n\n${edits.map(textOf).join('')}` +
        `3. In development, start the sandbox (with the port of your application, and its global prefix, if any):\n\n${indent(sandbox)}\n` +
        `4. In production, run this before the application starts (elsewhere it creates its tables itself), with DATABASE_URL set` +
        `${layerOf(declared) ? '' : ', or with\n   --data-source FILE, a file that exports the DataSource'}:\n\n${indent(migrate)}\n` +
        'At startup, the application logs the addresses to enter at the service.\n',
    );
  }
  return 0;
}

function manifestIn(folder: string): Manifest | undefined {
  try {
    const text = readFileSync(path.join(folder, 'package.json'), 'utf8').replace(/^\uFEFF/, '');
    return JSON.parse(text) as Manifest | undefined;
  } catch {
    return undefined;
  }
}

/** Chosen by the lockfile of the folder or of the nearest one above it; npm if there is none. */
function managerOf(folder: string): (typeof PACKAGE_MANAGERS)[keyof typeof PACKAGE_MANAGERS] {
  const manager = Object.values(PACKAGE_MANAGERS).find(({ lockfile }) => existsSync(path.join(folder, lockfile)));
  const parent = path.dirname(folder);
  return manager ?? (parent === folder ? PACKAGE_MANAGERS.npm : managerOf(parent));
}

const TYPEORM_PACKAGES = ['@nestjs/typeorm', 'typeorm'];

/**
 * Names every package that the application does not declare, in the version that fits its NestJS. Yarn does not install
 * peer dependencies, and npm would install newer versions.
 */
function installCommands(
  folder: string,
  declared: Ranges,
  pinned: boolean,
  { add, dev, exact }: ReturnType<typeof managerOf>,
): string[] {
  const {
    version = '',
    peerDependencies = {},
    peerDependenciesMeta = {},
  } = require(`${PACKAGE_NAME}/package.json`) as Manifest;
  const nest = /\d+/.exec(declared['@nestjs/common'] ?? '')?.[0];
  const generation = alternatives(peerDependencies['@nestjs/common']).findIndex((range) => majorOf(range) === nest);
  const needsTypeOrm = layerOf(declared) === undefined;
  const isNeeded = (name: string): boolean =>
    peerDependenciesMeta[name]?.optional !== true || (needsTypeOrm && TYPEORM_PACKAGES.includes(name));
  const peers = Object.keys(peerDependencies).filter(isNeeded);
  const missing = [
    ...(declared[PACKAGE_NAME] === undefined ? [packageSpec(folder, PACKAGE_NAME, version)] : []),
    ...peers
      .filter((name) => declared[name] === undefined)
      .map((name) => {
        const ranges = alternatives(peerDependencies[name]);
        return `${name}@${majorOf(ranges[generation] ?? ranges.at(-1) ?? '')}`;
      }),
    ...(declared['pg'] === undefined && declared['mysql2'] === undefined ? ['pg@8'] : []),
  ];
  const missingForTests =
    declared[SANDBOX_PACKAGE] === undefined ? [packageSpec(folder, SANDBOX_PACKAGE, version)] : [];
  const command = pinned ? `${add} ${exact}` : add;
  return [
    ...(missing.length > 0 ? [`${command} ${missing.join(' ')}`] : []),
    ...(missingForTests.length > 0 ? [`${command} ${dev} ${missingForTests.join(' ')}`] : []),
  ];
}

/** Splits `^11.0.0 || ^12.0.0`. Each alternative belongs to one major version of NestJS, in the same order for all peers. */
function alternatives(range = ''): string[] {
  return range.split('||').map((alternative) => alternative.trim());
}

/** `^4.0.0` as `4`, `^0.3.20` as `0.3`. */
function majorOf(range: string): string {
  return /^\D*((?:0\.)?\d+)/.exec(range)?.[1] ?? 'latest';
}

/** The package's packed file if it is in the application's folder; otherwise its name and version. */
function packageSpec(folder: string, name: string, version: string): string {
  const file = `${name}-${version}.tgz`;
  return existsSync(path.join(folder, file)) ? `${name}@file:./${file}` : `${name}@${majorOf(version)}`;
}

/** Returns `undefined` for an application that uses TypeORM, or has no data layer and gets TypeORM. */
function layerOf(declared: Ranges): PrintedLayer | undefined {
  if (declared['typeorm'] !== undefined) return undefined;
  return LAYERS.find(({ packages }) => packages.every((name) => declared[name] !== undefined));
}

/** For layers: an application creates its pool when the pool's file is imported, before `.env` is read. */
const POOL_NOTE = '. A pool of your own that reads it needs node --env-file=.env, because the pool is created earlier';

function editsFor({ type }: Manifest, declared: Ranges): Edit[] {
  const layer = layerOf(declared);
  const isNew = !layer && declared['typeorm'] === undefined;
  const file = 'src/app.module.ts';
  const importLines = [
    `import { ConfigModule } from '@nestjs/config';`,
    ...(isNew ? [`import { TypeOrmModule } from '@nestjs/typeorm';`] : []),
    `import { PaymentAcceptanceModule, paymentAcceptanceOptionsFromEnv } from 'nestjs-payment-acceptance';`,
    ...(layer?.top ?? []),
    `import { OrderPayments } from './order-payments.js';`,
  ];
  const imports = [
    `ConfigModule.forRoot(), // reads .env; leave it out where something does already${layer ? POOL_NOTE : ''}`,
    ...(isNew ? [TYPEORM_CODE] : []),
    layer
      ? moduleCode(layer)
      : 'PaymentAcceptanceModule.forRootAsync({ useFactory: () => paymentAcceptanceOptionsFromEnv() }),',
  ];
  const env = [
    ...(isNew ? ['DATABASE_URL=postgres://user:password@127.0.0.1:5432/database'] : []),
    ...(layer ? ['# also set DATABASE_URL, if it does not yet name the database of your orders'] : []),
    ENV,
  ];
  const code = (lines: readonly string[]): string => {
    const text = lines.join('\n');
    return type === 'module' ? text : text.replace(/(from '\.[^']*)\.js'/g, "$1'");
  };
  return [
    { file: '.env', place: 'at the end', code: env.join('\n') },
    { file: 'src/order-payments.ts', place: 'a new file', code: code([handlerCode(layer)]) },
    { file, place: 'at the top', code: code(importLines) },
    { file, place: 'at the end of the imports of @Module', code: imports.join('\n') },
    { file, place: 'in the providers of @Module', code: 'OrderPayments,' },
    { file: 'src/main.ts', place: 'before app.listen()', code: 'app.enableShutdownHooks();' },
  ];
}

function textOf({ file, place, code }: Edit): string {
  return `   ${file}, ${place}:\n\n${indent(code)}\n`;
}

function indent(text: string): string {
  return `${text.replace(/^(?=.)/gm, '     ')}\n`;
}
