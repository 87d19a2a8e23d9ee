import fs from 'node:fs';
import path from 'node:path';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { entriesOf } from './manifest.mjs';

/** @import { Plugin } from 'rollup' */
/** @import { Manifest } from './manifest.mjs' */

/**
 * The declarations of the entries, with all comments: once, for CommonJS, so that a class is the same type through both
 * doors; those of ES modules lead there. The compiler has left out what is `@internal`.
 */
export async function writeTypes(
  /** @type {string} */ compiled,
  /** @type {Manifest} */ manifest,
  /** @type {string} */ target,
) {
  const names = entriesOf(manifest).flatMap(({ name, isProgram }) => (isProgram ? [] : name));
  const bundle = await rollup({
    input: Object.fromEntries(names.map((name) => [name, path.join(compiled, `${name}.d.ts`)])),
    external: (id) => !id.startsWith('.') && !path.isAbsolute(id),
    plugins: [dts()],
    onLog(_level, { message }) {
      throw new Error(`${manifest.name}: ${message}`);
    },
  });
  await bundle.write({
    dir: path.join(target, 'cjs'),
    entryFileNames: '[name].d.ts',
    chunkFileNames: ({ name }) => `${name.replace(/\.d$/, '')}.d.ts`,
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    plugins: [resolutionMode],
  });
  await bundle.close();
  for (const name of names) {
    const there = `${'../'.repeat(name.split('/').length)}cjs/${name}.js`;
    fs.writeFileSync(path.join(target, 'esm', `${name}.d.ts`), `export * from '${there}';\n`);
  }
}

/**
 * @type {Plugin} Nest 12 can only be imported, and TypeScript wants to be told so where CommonJS names its types. Of
 * packages that have types for each format it is those for `import` that we mean, in both. TypeORM has one set for both.
 */
const resolutionMode = {
  name: 'resolution mode',
  renderChunk: (code) =>
    code.replace(
      /^import (.*) from '(?!\.|node:|typeorm')(.*)';$/gm,
      `import type $1 from '$2' with { 'resolution-mode': 'import' };`,
    ),
};
