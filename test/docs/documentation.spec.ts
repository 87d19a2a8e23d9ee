import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile, type ExecFileOptions } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { anchors, codeBlocks, documents, fileLinks } from '../../scripts/lib/markdown.mjs';
import { init } from '../../libs/payment-acceptance/src/cli/init.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const root = path.resolve(import.meta.dirname, '../..');
/** The document that makes a whole application, file by file. */
const APPLICATION = 'docs/getting-started.md';
const read = (document: string): string => fs.readFileSync(path.join(root, document), 'utf8');

describe.each(documents())('%s', (document) => {
  test('a document links to files and headings that exist', () => {
    const broken = fileLinks(read(document)).filter(({ target, anchor }) => {
      const file = target === '' ? path.join(root, document) : path.resolve(root, path.dirname(document), target);
      if (!fs.existsSync(file)) return true;
      return anchor !== undefined && !anchors(fs.readFileSync(file, 'utf8')).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test('the JSON blocks of a document are valid JSON', () => {
    for (const { language, line, text } of codeBlocks(read(document))) {
      if (language === 'json') expect({ line, parsed: JSON.parse(text) as unknown }).toBeDefined();
    }
  });
});

test('every TypeScript block of the documentation compiles, as the reader would write it', () => {
  const blocks = new Map<string, { where: string; text: string }>();
  for (const document of documents()) {
    // The application of docs/getting-started.md is there for every document.
    const folder = path.join(import.meta.dirname, 'readers', document.replaceAll('/', '-').replace(/\.md$/, ''));
    for (const { file, text } of filesOf(APPLICATION)) {
      blocks.set(path.join(folder, file), { where: APPLICATION, text });
    }
    for (const { language, line, file, text } of codeBlocks(read(document))) {
      const code = language === 'ts' ? text : language === 'json' ? eventAsCode(text) : undefined;
      if (code === undefined) continue;
      const name = path.join(folder, file ?? `block-at-line-${line}.ts`);
      blocks.set(name, { where: `${document}:${line}`, text: `${code}\nexport {};\n` });
    }
  }
  expect(blocks.size).toBeGreaterThan(5);
  expect(compile(blocks)).toEqual([]);
}, 120_000);

const ON_POSTGRES_JS = `import { drizzle } from 'drizzle-orm/postgres-js';
  import { numeric, pgTable, text, uuid } from 'drizzle-orm/pg-core';
  import postgres from 'postgres';
  export const db = drizzle(postgres(process.env.DATABASE_URL!));
  export const orders = pgTable('orders', { id: uuid(), amount: numeric(), currency: text(), status: text(), note: text() });`;

/** What an application of each data layer has, beside what `init` prints. */
const OF_LAYERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '@prisma/client': {
    'prisma.service.ts': `import { PrismaClient } from './generated/prisma/client.js';
      export class PrismaService extends PrismaClient {}
      export class PrismaModule {}`,
  },
  'drizzle-orm': { 'database.ts': read('examples/drizzle/src/database.ts') },
  'drizzle-orm, postgres': { 'database.ts': ON_POSTGRES_JS },
  kysely: { 'database.ts': read('examples/kysely/src/database.ts') },
  knex: { 'database.ts': `import knex from 'knex'; export const db = knex({ client: 'pg' });` },
  '@mikro-orm/core': {
    'order.entity.ts':
      'export class Order { id!: string; amount!: string; currency!: string; status!: string; note?: string; }',
  },
  pg: { 'database.ts': `import pg from 'pg'; export const pool = new pg.Pool();` },
  mysql2: { 'database.ts': `import mysql from 'mysql2/promise'; export const pool = mysql.createPool('');` },
};

test.each(Object.entries(OF_LAYERS))(
  'what init prints compiles in an application with %s',
  (layer, files) => {
    const folder = path.join(import.meta.dirname, 'readers', layer);
    const application = fs.mkdtempSync(path.join(os.tmpdir(), 'init-'));
    const packages = layer.split(', ').map((name) => [name, '1'] as const);
    const dependencies = { '@nestjs/common': '12', ...Object.fromEntries(packages) };
    fs.writeFileSync(path.join(application, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
    let out = '';
    const given = { command: 'init', values: { json: true } } as Parameters<typeof init>[0];
    init(given, application, { out: (text) => (out += text), err: () => undefined });
    fs.rmSync(application, { recursive: true });
    const { edits } = JSON.parse(out) as { edits: { file: string; place: string; code: string }[] };
    const placed = (where: string) => edits.find(({ file, place }) => `${file} ${place}`.includes(where))!.code;
    const module = `import { Module } from '@nestjs/common';
    ${placed('at the top')}
    @Module({ imports: [${placed('end of the imports')}], providers: [${placed('in the providers')}] })
    export class Application {}`;
    const all = { ...files, 'order-payments.ts': placed('order-payments'), 'app.module.ts': module };
    const blocks = Object.entries(all).map(
      ([file, text]) => [path.join(folder, file), { where: `${layer}, ${file}`, text }] as const,
    );
    expect(compile(new Map(blocks))).toEqual([]);
  },
  60_000,
);

describe('the application of docs/getting-started.md', () => {
  let folder: string;
  let database: TestDatabase;
  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(root, 'node_modules/.readers-'));
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    for (const { file, text } of [...filesOf(APPLICATION), ...filesOf('docs/testing.md')]) {
      const target = path.join(folder, file.replace(/\.ts$/, '.js'));
      fs.mkdirSync(path.dirname(target), { recursive: true });
      fs.writeFileSync(target, ts.transpile(text, { ...compilerOptions(), module: ts.ModuleKind.ES2022 }));
    }
    database = await createTestDatabase();
  });
  afterAll(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await database.drop();
  });

  const runReader = (file: string) =>
    run([file], { cwd: folder, timeout: 40_000, env: { ...process.env, DATABASE_URL: database.url, ...READER } });

  test('the application of docs/getting-started.md runs, and the test of docs/testing.md sees its order paid', async () => {
    const { stdout, stderr, code } = await runReader('test/payment.spec.js');
    expect({ stdout, stderr, code }).toMatchObject({ stderr: '', code: 0 });
  }, 60_000);

  test('a failing test of docs/testing.md still ends, beside the running application', async () => {
    const passing = fs.readFileSync(path.join(folder, 'test/payment.spec.js'), 'utf8');
    fs.writeFileSync(path.join(folder, 'test/failing.spec.js'), passing.replace(/, 'paid'\)/, ", 'lost')"));
    const { stdout, code } = await runReader('test/failing.spec.js');
    expect(stdout).toMatch(/'paid' !== 'lost'|\+ 'paid'/);
    expect(code).toBe(1); // and not `null`, of a process that had to be killed
  }, 60_000);
});

/** What that application finds in its environment. */
const READER = {
  NODE_ENV: 'test',
  PAYMENT_ACCEPTANCE_API_BASE_URL: 'https://api.pay.example',
  PAYMENT_ACCEPTANCE_SHOP_ID: '17',
  PAYMENT_ACCEPTANCE_API_TOKEN: 'a-token-of-16-or-more-characters',
};

function filesOf(document: string): { file: string; text: string }[] {
  return codeBlocks(read(document)).flatMap(({ file, text, language }) =>
    file !== undefined && language === 'ts' ? [{ file, text }] : [],
  );
}

function run(args: string[], options: ExecFileOptions) {
  return new Promise<{ stdout: string; stderr: string; code: number | null }>((resolve) => {
    const child = execFile(process.execPath, args, options, (_error, stdout, stderr) =>
      resolve({ stdout: String(stdout), stderr: String(stderr), code: child.exitCode }),
    );
  });
}

/** A payload that the documentation shows is held against the event's type. */
function eventAsCode(json: string): string | undefined {
  const { name } = JSON.parse(json) as { name?: string };
  if (!['payment.succeeded', 'payment.failed', 'payment.review', 'bill.expired'].includes(name ?? '')) return undefined;
  return `export const event: import('nestjs-payment-acceptance').PaymentEventMap['${name}'] = ${json};`;
}

/** The compiler's errors about files that exist only in the documentation, each with its place there. */
function compile(blocks: ReadonlyMap<string, { where: string; text: string }>): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(root, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => undefined,
    },
  );
  if (!config) throw new Error('tsconfig.json could not be read.');
  // What readers leave unused is theirs: an example need not use all that it declares.
  const options = { ...compilerOptions(), noUnusedLocals: false, noUnusedParameters: false, incremental: false };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile, directoryExists } = host;
  const folders = new Set([...blocks.keys()].flatMap(foldersAbove));
  host.fileExists = (file) => blocks.has(file) || fileExists(file);
  host.readFile = (file) => blocks.get(file)?.text ?? readFile(file);
  host.directoryExists = (folder) => folders.has(folder) || (directoryExists?.(folder) ?? true);
  host.getSourceFile = (file, version, ...rest) => {
    const block = blocks.get(file);
    return block ? ts.createSourceFile(file, block.text, version) : getSourceFile(file, version, ...rest);
  };
  const given = path.join(import.meta.dirname, 'given.d.ts');
  const program = ts.createProgram([...blocks.keys(), given], options, host);
  return [...blocks].flatMap(([file, { where }]) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText, start = 0 }) => {
        const line = source ? source.getLineAndCharacterOfPosition(start).line : 0;
        return `${where} +${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
      },
    );
  });
}

function compilerOptions(): ts.CompilerOptions {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const config = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.json'), {}, host);
  if (!config) throw new Error('tsconfig.json could not be read.');
  return config.options;
}

function foldersAbove(file: string): string[] {
  const folder = path.dirname(file);
  return folder === root || folder === path.dirname(folder) ? [folder] : [folder, ...foldersAbove(folder)];
}
