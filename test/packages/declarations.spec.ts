import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'declarations-'));

describe('declarations', () => {
  afterAll(() => rmSync(folder, { recursive: true }));

  const FILES = {
    'package.json': JSON.stringify({
      name: 'a-library',
      exports: {
        '.': { import: { types: './dist/esm/index.d.ts' } },
        './testing': { import: { types: './dist/esm/testing/index.d.ts' } },
      },
    }),
    'dist/esm/index.d.ts': `export { Shop } from './shop.js';\nexport type { Amount as Money } from './amount.js';\n`,
    'dist/esm/testing/index.d.ts': `import type { Sandbox } from 'a-sandbox';
import type { Amount } from '../amount.js';
/** Only for tests. */
export declare function pay(sandbox: Sandbox, amount: Amount): typeof import("a-sandbox").paid;
`,
    'dist/esm/shop.d.ts': `import type { Logger } from '@nestjs/common';
import { type Amount, unused } from './amount.js';
import { Store, type Kept } from './store.js';
/** A shop. */
export declare class Shop implements Kept {
    private readonly store;
    readonly logger: Logger;
    constructor(store: Store);
    /** What it costs. */
    price(of: Amount): Amount;
    /** @internal */
    keep(store: Store): void;
    private secret;
}
export declare class Hidden {
    all: Store;
}
`,
    'dist/esm/amount.d.ts': `export interface Amount {\n    text: string;\n}\nexport declare const unused: 1;\n`,
    'dist/esm/store.d.ts': `export declare class Store {\n}\nexport interface Kept {\n}\n`,
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
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', stdio: 'pipe' }),
    );
  }

  test('only what entries export is declared, without what a class keeps for itself, and each where it is needed', () => {
    const entries = `['index', 'testing/index']`;
    const files = evaluate('compile-declarations.mjs', `[...it.publicDeclarations('${folder}/dist/esm', ${entries})]`);
    expect(Object.fromEntries(files as [string, string][])).toEqual({
      'types.d.ts': `import type { Logger } from '@nestjs/common' with { 'resolution-mode': 'import' };
/** A shop. */
export declare class Shop {
	readonly logger: Logger;
	/** What it costs. */
	price(of: Amount): Amount;
}
export interface Amount {
	text: string;
}
`,
      'index.d.ts': `export { Shop, type Amount as Money } from './types.js';\n`,
      'testing/index.d.ts': `import type { Sandbox } from 'a-sandbox' with { 'resolution-mode': 'import' };
import type { Amount } from '../types.js';
/** Only for tests. */
declare function pay(sandbox: Sandbox, amount: Amount): typeof import("a-sandbox", { with: { 'resolution-mode': 'import' } }).paid;
export { pay };
`,
    });
  });

  test('the report of what is exported names it all, and nothing that is not for users', () => {
    const report = evaluate('api-report.mjs', `it.apiReport('${folder}')`) as string;
    expect(report).toContain('## a-library\n');
    expect(report).toMatch(/export interface Amount \{\s+text: string;\s+\}/);
    expect(report).toMatch(
      /export declare class Shop \{\s+readonly logger: Logger;\s+price\(of: Amount\): Amount;\s+\}/,
    );
    expect(report).not.toMatch(/Store|secret|Hidden|unused|keep/i);
  });

  test('a type that the public interface names and no entry exports is an error, and named', () => {
    const file = join(folder, 'dist/esm/shop.d.ts');
    writeFileSync(file, FILES['dist/esm/shop.d.ts'].replace('/** @internal */', ''));
    expect(() => evaluate('api-report.mjs', `it.apiReport('${folder}')`)).toThrow('none of its entries export: Store.');
  });

  test('a script is printed line by line, without comments and white space, and otherwise as it is', () => {
    const code = `'use strict';
/* a */ const x = 1; // b
/** c */
function f(a, b) {
    // d
    if (a instanceof String)
        return a - -b + [1, , 3,].length;
    for (;;);
    g((i) => i, async (j) => ({ ...j, }), ({ k }) => \`
    /* kept */ \${x}
\`);
}
`;
    const printed = evaluate('compile-compactly.mjs', `it.printCompactly(${JSON.stringify(code)}, () => undefined)`);
    expect(printed).toEqual({
      code: `'use strict';
const x=1;
function f(a,b){
if(a instanceof String)return a- -b+[1,,3].length;
for(;;);
g(i=>i,async j=>({...j}),({k})=>\`
    /* kept */ \${x}
\`)}
`,
      // Nothing can fail in the first two, and the last two belong to the string that begins above them.
      map: {
        mappings: [[], [], [3], [5], [7], [8], [], []].map((lines) =>
          lines.map((line) => [0, 0, line, expect.any(Number)]),
        ),
      },
    });
  });

  test('the lines of SQL and of markup lose their indentation, and a constructor takes one line for what it keeps', () => {
    const code = `
class A {
    constructor(a, b) {
        this.a = a;
        this.b = b;
        if (a)
            throw new Error(\`
  as it is\`);
    }
}
q(\`SELECT 1
   FROM \${t}
    x\`, html\`
  <p>\`);
`;
    const { code: printed } = evaluate(
      'compile-compactly.mjs',
      `it.printCompactly(${JSON.stringify(code)}, () => undefined)`,
    ) as {
      code: string;
    };
    expect(printed.trim()).toBe(`class A{
constructor(a,b){
this.a=a;this.b=b;
if(a)
throw new Error(\`
  as it is\`);}}
q(\`SELECT 1
FROM \${t}
x\`,html\`
<p>\`);`);
  });
});
