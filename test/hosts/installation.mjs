import fs from 'node:fs';
import path from 'node:path';
import { attempt, printed } from './attempt.mjs';
import { freshDatabase } from './fresh-database.mjs';
import { installed } from './install.mjs';
import { run, RunError } from './run.mjs';

/** @import { Packed } from '../../scripts/lib/packages.mjs' */

/** @typedef {{ file: string, place: string, code: string }} Edit */
/** @typedef {{ install: string[], edits: Edit[] }} Told What `payment-acceptance init --json` prints. */

const PINS = { '@nestjs/typeorm': '11.0.0', rxjs: '7.8.1', typeorm: '0.3.28' };

/** An application of NestJS 11 as CommonJS, which knows nothing of payments. */
const FILES = {
  'package.json': JSON.stringify({
    private: true,
    scripts: { test: 'jest' },
    dependencies: {
      '@nestjs/common': '^11.0.0',
      '@nestjs/core': '^11.0.0',
      '@nestjs/platform-express': '^11.0.0',
      pg: '^8.11.0',
      'reflect-metadata': '^0.2.0',
      ...PINS,
    },
    devDependencies: {
      '@nestjs/testing': '^11.0.0',
      '@types/node': '^20.19.0',
      jest: '^30.0.0',
      'ts-jest': '^29.4.0',
      typescript: '^5.9.0',
    },
  }),
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'commonjs',
      target: 'ES2023',
      strict: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      skipLibCheck: true,
      outDir: 'dist',
      types: ['node', 'jest'],
    },
    include: ['src'],
    exclude: ['src/**/*.spec.ts'],
  }),
  'jest.config.js': `module.exports = { rootDir: 'src', transform: { '^.+\\\\.ts$': ['ts-jest', { diagnostics: false }] } };\n`,
  'src/main.ts': `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  app.setGlobalPrefix('api');
  await app.listen(3000);
}
void bootstrap();
`,
  'src/app.module.ts': `import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL, autoLoadEntities: true }),
  ],
  providers: [],
})
export class AppModule {}
`,
  'src/app.spec.ts': `import { Test } from '@nestjs/testing';
import { AppModule } from './app.module';

test('starts', async () => {
  const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
  const app = module.createNestApplication();
  await app.init();
  await app.close();
}, 60_000);
`,
};

/**
 * Installs the packed files into an application with pins as the documentation says, with the commands and the lines that
 * `payment-acceptance init` prints.
 *
 * @returns {Promise<{ versions?: string, leftOut?: string, checks: import('./attempt.mjs').Check[] }>}
 */
export async function tryInstallation(
  /** @type {{ folder: string, packages: Packed[], serverUrl: string }} */ { folder, packages, serverUrl },
) {
  for (const [file, text] of Object.entries(FILES)) writeFile(folder, file, text);
  for (const { file } of packages) fs.copyFileSync(file, path.join(folder, path.basename(file)));
  const installation = await installed(folder);
  if ('leftOut' in installation) return { ...installation, checks: [] };

  const database = await freshDatabase(serverUrl);
  const env = { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '', DATABASE_URL: database };
  const shell = (/** @type {string} */ command) => run('sh', ['-c', command], { cwd: folder, env });
  const [own] = packages.filter(({ name }) => name === 'nestjs-payment-acceptance');
  /** @type {Told} */
  let told = { install: [], edits: [] };
  const checks = [
    await attempt('init, before anything of it is installed, changes nothing', async () => {
      const before = listing(folder);
      const npx = `npx --yes --legacy-peer-deps -p ./${path.basename(own?.file ?? '')}`;
      told = JSON.parse(await shell(`${npx} payment-acceptance init --json`));
      if (listing(folder) !== before) throw new Error('Something has changed.');
    }),
    await attempt('what init prints installs, and keeps every pin', async () => {
      const before = rangesIn(folder);
      for (const command of told.install) await shell(`${command} --prefer-offline --no-audit --no-fund`);
      const after = rangesIn(folder);
      const changed = Object.keys(before).filter((name) => before[name] !== after[name]);
      if (changed.length > 0) throw new Error(`Changed: ${changed.join(', ')}`);
      const { install } = JSON.parse(await shell('npx payment-acceptance init --json'));
      if (install.length > 0) throw new Error(`Still missing: ${install.join(', ')}`);
    }),
    await attempt('the lines of init compile, and the application starts in its Jest', async () => {
      for (const edit of told.edits) apply(folder, edit);
      await shell('node_modules/.bin/tsc -p tsconfig.json');
      await shell('npm test --silent');
    }),
    await attempt('a missing package is a sentence of the program', async () => {
      fs.rmSync(path.join(folder, 'node_modules/@nestjs/axios'), { recursive: true });
      await expectFailure(shell('npx payment-acceptance status'), "Cannot find module '@nestjs/axios'");
    }),
  ];
  return { ...installation, checks: printed(checks) };
}

/** Does what the text says, as a person would. */
function apply(/** @type {string} */ folder, /** @type {Edit} */ { file, place, code }) {
  const target = path.join(folder, file);
  const text = fs.existsSync(target) ? fs.readFileSync(target, 'utf8') : '';
  /** @type {Record<string, () => string>} */
  const edited = {
    'a new file': () => `${code}\n`,
    'at the end': () => `${text}${code}\n`,
    'at the top': () => `${code}\n${text}`,
    'at the end of the imports of @Module': () => text.replace('\n  ],\n  providers', `\n${code}\n  ],\n  providers`),
    'in the providers of @Module': () => text.replace('providers: [', `providers: [${code}`),
    'before app.listen()': () => text.replace('  await app.listen', `  ${code}\n  await app.listen`),
  };
  const result = edited[place]?.();
  if (result === undefined || result === text) throw new Error(`${file}: there is no place for: ${code}`);
  writeFile(folder, file, result);
}

async function expectFailure(/** @type {Promise<string>} */ work, /** @type {string} */ sentence) {
  const error = await work.then(
    () => undefined,
    (/** @type {unknown} */ thrown) => thrown,
  );
  if (!(error instanceof RunError)) throw error ?? new Error('It did not fail.');
  if (!error.output.includes(sentence)) throw new RunError(`It does not say "${sentence}".`, error.output);
}

/** @returns {Record<string, string>} */
function rangesIn(/** @type {string} */ folder) {
  const { dependencies, devDependencies } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return { ...dependencies, ...devDependencies };
}

function listing(/** @type {string} */ folder) {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return files.map((file) => `${file} ${fs.statSync(path.join(folder, file)).mtimeMs}`).join('\n');
}

function writeFile(/** @type {string} */ folder, /** @type {string} */ file, /** @type {string} */ text) {
  fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  fs.writeFileSync(path.join(folder, file), text);
}
