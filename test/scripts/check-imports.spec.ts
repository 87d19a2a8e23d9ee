import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkImports } from '../../scripts/check-imports.mjs';

const src = 'libs/payment-acceptance/src';
let base: string;

describe('the import check', () => {
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'imports-'));
    write('libs/payment-acceptance/package.json', '{ "peerDependencies": { "axios": "1" } }');
  });
  afterEach(() => {
    rmSync(base, { recursive: true });
  });

  it('the import check accepts imports of lower folders, and what a spec needs', () => {
    write(`${src}/index.ts`, `export * from './callbacks/controller.js';`);
    write(`${src}/callbacks/controller.ts`, `import { money } from '../domain/money.js'; import axios from 'axios';`);
    write(`${src}/common/random.ts`, `import { randomUUID } from 'node:crypto';`);
    write(`${src}/domain/uuid.ts`, `import { createHash } from 'node:crypto';`);
    write(`${src}/domain/money.ts`, `import { uuid } from './uuid.js';`);
    write(`${src}/domain/money.spec.ts`, `import { x } from '../../../../test/support/x.js'; import pg from 'pg';`);
    expect(checkImports(base)).toEqual([]);
  });

  it.each([
    ['a climb', 'database/a.ts', `import { b } from '../bills/b.js';`, 'bills/ is above database/'],
    ['a climb of a store', 'bills/storage/a.ts', `import { b } from '../../health/b.js';`, 'health/ is above bills/'],
    ['a climb to a wing', 'module/a.ts', `import { b } from '../operations/b.js';`, 'operations/ is above module/'],
    ['a climb to the module', 'bills/a.ts', `import { M } from '../module/m.js';`, 'module/ is above bills/'],
    ['a type', 'common/a.ts', `import type { B } from '../database/b.js';`, 'database/ is above common/'],
    ['a neighbour', 'client/a.ts', `export { b } from '../events/b.js';`, 'client/ and events/ are on the same floor'],
    [
      'a late import',
      'database/a.ts',
      `export const b = () => import('../events/b.js');`,
      'events/ is above database/',
    ],
    ['a folder without a floor', 'extras/a.ts', `import { b } from '../common/b.js';`, 'extras/ has no floor'],
    ['index.ts', 'bills/a.ts', `import { B } from '../index.js';`, 'index.ts is for users'],
    ['an app', 'bills/a.ts', `import { b } from '../../../../apps/shop/src/b.js';`, 'outside payment-acceptance'],
    ['a climb from the ground', 'domain/a.ts', `import type { B } from '../common/b.js';`, 'common/ is above domain/'],
    ['a package in domain/', 'domain/a.ts', `import type { Axios } from 'axios';`, 'domain/ is pure'],
    ['Node in domain/', 'domain/a.ts', `import { readFileSync } from 'node:fs';`, 'domain/ is pure'],
    ['a hash in another file of domain/', 'domain/a.ts', `import { hash } from 'node:crypto';`, 'domain/ is pure'],
    ['a package of the repository only', 'bills/a.ts', `import pg from 'pg';`, "not in the library's package.json"],
    ['the other library', 'a.spec.ts', `import { b } from 'nestjs-payment-sandbox';`, 'each library stands alone'],
    ['itself', 'common/a.ts', `import { a } from './a.js';`, 'a circle of imports'],
  ])('the import check reports %s', (_what, file, text, reason) => {
    write(`${src}/${file}`, text);
    const problems = checkImports(base);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`${src}/${file}`);
    expect(problems[0]).toContain(reason);
  });

  it('the import check lets the testing entry use the other library if that is a peer', () => {
    write('libs/payment-acceptance/package.json', '{ "peerDependencies": { "nestjs-payment-sandbox": "1" } }');
    write(`${src}/testing/a.ts`, `import { b } from 'nestjs-payment-sandbox'; import { M } from '../module/m.js';`);
    write(`${src}/module/m.ts`, '');
    expect(checkImports(base)).toEqual([]);
    write(`${src}/module/m.ts`, `import { a } from '../testing/a.js';`);
    expect(checkImports(base)).toContainEqual(expect.stringContaining('testing/ is above module/'));
  });

  it('the import check reports a cycle of several files once', () => {
    write(`${src}/common/a.ts`, `import './b.js';`);
    write(`${src}/common/b.ts`, `import './c.js';`);
    write(`${src}/common/c.ts`, `import './a.js';`);
    expect(checkImports(base)).toEqual([expect.stringMatching(/circle.*a\.ts → .*b\.ts → .*c\.ts → .*a\.ts$/)]);
  });

  it("the import check keeps an app from importing a library's files", () => {
    write('apps/shop/src/main.ts', `import { x } from '../../../libs/payment-acceptance/src/bills/x.js';`);
    expect(checkImports(base)).toEqual([expect.stringContaining('outside apps/shop')]);
  });

  it('the import check limits an example to its package.json, and ignores its other files', () => {
    write('examples/README.md', '');
    write('examples/page/page.controller.ts', `import 'lodash';`);
    write('examples/shop/package.json', '{ "dependencies": { "@nestjs/core": "1" } }');
    write('examples/shop/src/main.ts', `import '@nestjs/core/router'; import 'node:fs'; import 'lodash';`);
    expect(checkImports(base)).toEqual([expect.stringContaining(`'lodash': not in the example's package.json`)]);
  });
});

function write(name: string, text: string): void {
  const file = join(base, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
