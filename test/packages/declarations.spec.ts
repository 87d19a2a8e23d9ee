import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'declarations-'));
afterAll(() => rmSync(folder, { recursive: true }));

const FILES = {
  'package.json': JSON.stringify({
    name: 'a-library',
    exports: { '.': { import: { types: './dist/esm/index.d.ts' } } },
  }),
  'dist/esm/index.d.ts': `export { Shop } from './shop.js';\nexport type { Amount as Money } from './amount.js';\n`,
  'dist/esm/shop.d.ts': `import type { Logger } from '@nestjs/common';
import { type Amount, unused } from './amount.js';
import { Store } from './store.js';
/** A shop. */
export declare class Shop {
    private readonly store;
    readonly logger: Logger;
    constructor(store: Store);
    /** What it costs. */
    price(of: Amount): Amount;
    private secret;
}
export declare class Hidden {
    all: Store;
}
`,
  'dist/esm/amount.d.ts': `export interface Amount {\n    text: string;\n}\nexport declare const unused: 1;\n`,
  'dist/esm/store.d.ts': `export declare class Store {\n}\n`,
};

beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});

/** What a script of the repository makes of the library above, in plain Node. */
function evaluate(script: string, expression: string): unknown {
  const module = pathToFileURL(join(root, 'scripts/lib', script)).href;
  const program = `import * as it from '${module}'; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
}

test('only what entries export is declared, without what a class keeps for itself', () => {
  const files = evaluate('compile-declarations.mjs', `[...it.publicDeclarations('${folder}/dist/esm', ['index'])]`);
  expect(Object.fromEntries(files as [string, { text: string; neutral: boolean }][])).toEqual({
    'index.d.ts': { text: FILES['dist/esm/index.d.ts'], neutral: false },
    'amount.d.ts': { text: 'export interface Amount {\n\ttext: string;\n}\n', neutral: true },
    'shop.d.ts': {
      text: `import type { Logger } from '@nestjs/common';
import { type Amount, } from './amount.js';
/** A shop. */
export declare class Shop {
	readonly logger: Logger;
	/** What it costs. */
	price(of: Amount): Amount;
}
`,
      neutral: false,
    },
  });
});

test('the report of what is exported names it all, and nothing that is private', () => {
  const report = evaluate('api-report.mjs', `it.apiReport('${folder}')`) as string;
  expect(report).toContain('## a-library\n');
  expect(report).toMatch(/export interface Amount \{\s+text: string;\s+\}/);
  expect(report).toMatch(/export declare class Shop \{\s+readonly logger: Logger;\s+price\(of: Amount\): Amount;\s+\}/);
  expect(report).not.toMatch(/Store|secret|Hidden|unused/);
});

test('a script is printed line by line without its comments, and its strings as they are', () => {
  const code =
    "'use strict';\n/* a */ const x = 1; // b\nfunction f() {\n    // c\n    return `\n    /* kept */ ${x}`;\n}\n";
  const printed = evaluate('compile-compactly.mjs', `it.printCompactly(${JSON.stringify(code)}, () => undefined)`);
  expect(printed).toEqual({
    code: "'use strict';\nconst x = 1;\nfunction f() {\n\treturn `\n    /* kept */ ${x}`;\n}\n",
    map: { mappings: [[[0, 0, 0, 0]], [[0, 0, 1, 8]], [[0, 0, 2, 0]], [[1, 0, 4, 4]], [[0, 0, 6, 0]]] },
  });
});
