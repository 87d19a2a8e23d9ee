import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');

const door = (name: string) => ({
  import: { types: `./dist/esm/${name}.d.ts`, default: `./dist/esm/${name}.js` },
  require: { types: `./dist/cjs/${name}.d.ts`, default: `./dist/cjs/${name}.js` },
});

/** A library as the compiler leaves it. */
const LIBRARY: Record<string, string> = {
  'package.json': JSON.stringify({
    name: 'a-library',
    type: 'module',
    exports: { '.': door('index'), './testing': door('testing/index') },
    bin: { 'a-program': 'dist/esm/cli/main.js' },
    dependencies: { 'in-both-formats': '1' },
    peerDependencies: { '@nestjs/common': '12', 'nestjs-payment-acceptance': '1' },
  }),
  'dist/esm/index.js': `export { Shop, limit } from './shops/shop.js';\nexport { PATH } from './shops/path.js';\n`,
  'dist/esm/shops/shop.js': `import { Injectable } from '@nestjs/common';
import { Operations } from 'nestjs-payment-acceptance/operations';
import both from 'in-both-formats';
const LIMIT = 1;
/** A shop. */
export class Shop {
    // Why so.
    static nest = [Injectable, Operations, both];
}
export const limit = () => LIMIT;
`,
  'dist/esm/shops/path.js': `const LIMIT = 2;\nexport const PATH = [LIMIT];\n`,
  'dist/esm/testing/index.js': `import { Operations } from 'nestjs-payment-acceptance/operations';
import { Shop } from '../shops/shop.js';
export const pay = () => [Operations, Shop];
`,
  'dist/esm/cli/main.js': `#!/usr/bin/env node\nimport { limit } from '../shops/shop.js';\nconsole.log(limit());\n`,
  'dist/esm/index.d.ts': `export { Shop } from './shops/shop.js';
export type { Amount as Money } from './shops/amount.js';
export { PATH } from './shops/path.js';
`,
  'dist/esm/shops/shop.d.ts': `import type { Logger } from '@nestjs/common';
import type { Amount } from './amount.js';
declare const LIMIT = 1;
/** A shop. */
export declare class Shop {
    private readonly store;
    readonly logger: Logger;
    /** What it costs. */
    price(of: Amount): typeof LIMIT;
}
export interface Kept {
    text: string;
}
`,
  'dist/esm/shops/amount.d.ts': `export interface Amount {\n    text: string;\n}\nexport declare const unused: 1;\n`,
  'dist/esm/shops/path.d.ts': `declare const LIMIT = 2;\nexport declare const PATH: (typeof LIMIT)[];\n`,
  'dist/esm/testing/index.d.ts': `import type { Operations } from 'nestjs-payment-acceptance/operations';
import type { Shop } from '../shops/shop.js';
/** Only for tests. */
export declare const pay: () => [Operations, Shop];
`,
};

const inBoth = (name: string) => ({ import: `./${name}.js`, require: `./${name}.cjs` });
/** A host of Nest 12, which can only be imported, and one of Nest 11, which can only be required. */
const PACKAGES: Record<string, string> = {
  'in-both-formats/package.json': JSON.stringify({ name: 'in-both-formats', exports: './index.cjs' }),
  'in-both-formats/index.cjs': `module.exports = 'both';`,
  '@nestjs/common/package.json': JSON.stringify({ name: '@nestjs/common', type: 'module', exports: inBoth('index') }),
  '@nestjs/common/index.js': `export const Injectable = 'imported';`,
  '@nestjs/common/index.cjs': `exports.Injectable = 'required';`,
  'nestjs-payment-acceptance/package.json': JSON.stringify({
    name: 'nestjs-payment-acceptance',
    type: 'module',
    exports: { './operations': inBoth('operations') },
  }),
  'nestjs-payment-acceptance/operations.js': `export const Operations = 'imported';`,
  'nestjs-payment-acceptance/operations.cjs': `exports.Operations = 'required';`,
};

describe('compiled packages', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'compile-')));
    write('library', LIBRARY);
    write('host/node_modules', PACKAGES);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(below: string, files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, below, name)), { recursive: true });
      writeFileSync(join(folder, below, name), text);
    }
  }

  function node(program: string, cwd = root): string {
    const args = ['--input-type=module', '-e', program];
    return execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim();
  }

  /** What a script of the repository makes of the library above, in plain Node. */
  function evaluate(script: string, expression: string): unknown {
    const module = pathToFileURL(join(root, 'scripts/lib', script)).href;
    return JSON.parse(node(`import * as it from '${module}'; console.log(JSON.stringify(${expression}) ?? null);`));
  }

  /** Compiles the library into the host. */
  function compile(): (file: string) => string {
    const target = join(folder, 'host/node_modules/a-library');
    evaluate(
      'compile-package.mjs',
      `await it.compilePackage('${folder}/library', ${LIBRARY['package.json']!}, '${target}')`,
    );
    writeFileSync(join(target, 'package.json'), LIBRARY['package.json']!);
    return (file) => readFileSync(join(target, 'dist', file), 'utf8');
  }

  describe('a compiled package', () => {
    test('a compiled package keeps comments, names and lines, even where two files have the same constant', () => {
      const published = compile();
      expect(published('code/payment-shops.cjs')).toContain(`/** A shop. */
class Shop {
    // Why so.
    static nest = [common.Injectable, operations.Operations, both];
}
const limit = () => LIMIT$1;
`);
      expect(published('code/payment-shops.cjs')).toContain('const PATH = [LIMIT];\n');
    });

    test.each([
      ['import', 'imported', 'await import(name)'],
      ['require', 'required', `createRequire(process.cwd() + '/x.cjs')(name)`],
    ])(
      'a compiled package loaded by %s loads Nest the same way, and has the same objects either way',
      (_, nest, load) => {
        compile();
        const found = node(
          `import { createRequire } from 'node:module';
      const load = async (name) => ${load};
      const { Shop, PATH, limit } = await load('a-library');
      const { pay } = await load('a-library/testing');
      const other = await import('a-library');
      console.log(JSON.stringify([Shop.nest, pay()[0], pay()[1] === Shop, other.Shop === Shop, PATH, limit()]));`,
          join(folder, 'host'),
        );
        expect(JSON.parse(found)).toEqual([[nest, nest, 'both'], nest, true, true, [2], 1]);
      },
    );

    test('a compiled package has executable programs', () => {
      compile();
      const program = join(folder, 'host/node_modules/a-library/dist/esm/cli/main.js');
      expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
      expect(execFileSync(process.execPath, [program], { encoding: 'utf8' })).toBe('1\n');
    });

    test('a compiled package declares only what its entries export, with the comments', () => {
      const published = compile();
      const [shared, main, testing] = ['shop.d.ts', 'index.d.ts', 'testing/index.d.ts'].map((name) =>
        published(`cjs/${name}`),
      );
      expect(shared).toContain(`import type { Logger } from '@nestjs/common' with { 'resolution-mode': 'import' };\n`);
      expect(shared).toMatch(/\/\*\* A shop\. \*\/\ndeclare class Shop \{\n(.*\n)* {4}\/\*\* What it costs\. \*\/\n/);
      expect(main).toContain('declare const PATH: (typeof LIMIT)[];\n');
      expect(testing).toContain(
        `import type { Operations } from 'nestjs-payment-acceptance/operations' with { 'resolution-mode': 'import' };\n`,
      );
      expect(testing).toContain('/** Only for tests. */\n');
      expect(shared! + main! + testing!).not.toMatch(/unused|Kept/);
      expect(published('esm/testing/index.d.ts')).toBe(`export * from '../../cjs/testing/index.js';\n`);
    });

    test("compiling refuses an import that the package's manifest does not name", () => {
      write('library', { 'dist/esm/shops/path.js': `import pg from 'pg';\nexport const PATH = pg;\n` });
      expect(compile).toThrow(/a-library: .*"pg"/);
    });

    test('compiling refuses a dynamic import of Nest', () => {
      write('library', { 'dist/esm/shops/path.js': `export const PATH = () => import('@nestjs/common');\n` });
      expect(compile).toThrow('import @nestjs/common statically, so that a door can hand it over');
    });
  });

  describe('the API report', () => {
    const report = () => evaluate('api-report.mjs', `it.apiReport('${folder}/library')`) as string;

    test('the API report lists all that is exported, and nothing internal', () => {
      expect(report()).toContain('## a-library\n');
      expect(report()).toMatch(/export interface Amount \{\s+text: string;\s+\}/);
      expect(report()).toMatch(
        /export declare class Shop \{\s+readonly logger: Logger;\s+price\(of: Amount\): typeof LIMIT;\s+\}/,
      );
      expect(report()).not.toMatch(/store|unused|Kept/);
    });

    test('the API report refuses a public type that no entry exports, and names it', () => {
      const text = LIBRARY['dist/esm/shops/shop.d.ts']!.replace('price(', 'constructor(kept: Kept);\n    price(');
      write('library', { 'dist/esm/shops/shop.d.ts': text });
      expect(report).toThrow('none of its entries export: Kept.');
    });
  });
});
