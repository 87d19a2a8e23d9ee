import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@jridgewell/sourcemap-codec';
import { rollup } from '@rollup/wasm-node';
import { transform } from '@swc/core';
import ts from 'typescript';
import { printCompactly } from './compile-compactly.mjs';
import { publicDeclarations } from './compile-declarations.mjs';

/*
 * Makes the `dist` that is published out of a library's compiled ES modules:
 *
 *   dist/code/*.cjs   the code, once: functions of the Nest packages that they use
 *   dist/esm, dist/cjs  for each entry a door that imports, or requires, Nest and hands it to the code; and the types
 *
 * Why so: docs/decisions/0004-one-code-two-doors.md.
 */

/**
 * Nest 11 can only be required by Jest, Nest 12 only be imported, and so the sandbox, which has the same two doors. All
 * else can be required everywhere.
 */
const isNest = (name) => name.startsWith('@nestjs/') || name === 'nestjs-payment-sandbox';

/** The entries are those of the manifest's `exports` and `bin`: a new one needs nothing here. */
export async function compilePackage(library, manifest, target) {
  const compiled = path.join(library, 'dist/esm');
  const entries = entriesOf(manifest);
  const chunks = await writeCode(compiled, entries, path.join(target, 'dist/code'));
  for (const [name, entry] of Object.entries(entries)) {
    const door = { chunk: `${chunkName(name)}.cjs`, names: namesOf(chunks, name), nest: nestBelow(chunks, name) };
    write(path.join(target, 'dist/esm', `${name}.js`), importingDoor(name, door, entry.program));
    if (!entry.program) write(path.join(target, 'dist/cjs', `${name}.js`), requiringDoor(name, door));
  }
  const typed = Object.keys(entries).filter((name) => !entries[name].program);
  for (const [file, text] of publicDeclarations(compiled, typed)) write(path.join(target, 'dist/cjs', file), text);
  for (const name of typed) {
    const there = `${'../'.repeat(name.split('/').length)}cjs/${name}.js`;
    write(path.join(target, 'dist/esm', `${name}.d.ts`), `export * from '${there}';\n`);
  }
  write(path.join(target, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
}

/** `{ 'testing/index': { program: false } }`: what lies at `./dist/esm/testing/index.js`. */
function entriesOf({ exports, bin = {} }) {
  const nameOf = (file) => path.posix.relative('dist/esm', file).replace(/\.js$/, '');
  const imported = Object.values(exports).flatMap((conditions) => conditions.import?.default ?? []);
  return Object.fromEntries([
    ...imported.map((file) => [nameOf(file), { program: false }]),
    ...Object.values(bin).map((file) => [nameOf(file), { program: true }]),
  ]);
}

async function writeCode(compiled, entries, folder) {
  const names = Object.keys(entries);
  const bundle = await rollup({
    input: Object.fromEntries(names.map((name) => [chunkName(name), path.join(compiled, `${name}.js`)])),
    external: (id) => !id.startsWith('.') && !path.isAbsolute(id) && id !== 'tslib',
    plugins: [sourceMaps, compilerHelpers],
    onLog(level, { message }) {
      throw new Error(`${folder}: ${message}`);
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'shared.cjs',
    // One file for all that the main entry loads anyway: what names cross files by costs more than one would think.
    manualChunks: (id, { getModuleInfo }) =>
      below(path.join(compiled, 'index.js'), getModuleInfo).has(id) ? 'shared' : undefined,
    strict: false, // the first line of each file says it
    esModule: false,
    interop: 'default',
    hoistTransitiveImports: false,
    dynamicImportInCjs: false, // in a host's Jest only `require` works everywhere
    sourcemap: true,
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (file) =>
      `../../${path.relative(path.dirname(path.dirname(compiled)), path.resolve(folder, file))}`,
    banner: `'use strict';\nlet made;\nmodule.exports = (nest) => {\nif (made) return made;\nconst exports = made = {};`,
    footer: 'return exports;\n};',
    plugins: [
      { name: 'short names', renderChunk: shortenNames },
      { name: 'hand over Nest, without comments', renderChunk: (code, chunk) => printCompactly(code, handOver(chunk)) },
      mapsWithoutNames,
    ],
  });
  return Object.fromEntries(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
}

/** The modules that one imports, near and far. */
function below(id, getModuleInfo, seen = new Set()) {
  for (const each of getModuleInfo(id).importedIds) {
    if (seen.has(each)) continue;
    seen.add(each);
    below(each, getModuleInfo, seen);
  }
  return seen;
}

/** Of local variables and private members only: a stack trace names functions and classes, and those stay. */
function shortenNames(code) {
  const mangle = { keep_classnames: true, keep_fnames: true, reserved: ['nest'] };
  return transform(code, {
    configFile: false,
    swcrc: false,
    isModule: 'commonjs',
    sourceMaps: true,
    jsc: { target: 'es2022', parser: { syntax: 'ecmascript' }, minify: { compress: false, mangle } },
  });
}

/** A stack trace takes only lines from them. */
const mapsWithoutNames = {
  name: 'source maps without names',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle).filter(({ fileName }) => fileName.endsWith('.map'))) {
      const map = JSON.parse(file.source);
      const lines = decode(map.mappings).map((line) => line.map((segment) => segment.slice(0, 4)));
      file.source = JSON.stringify({ ...map, names: [], mappings: encode(lines) });
    }
  },
};

/** `require('@nestjs/common')` takes what the door has handed over; another file of the code gets it in turn. */
function handOver({ fileName, imports }) {
  return (node) => {
    const passedOn = /^Object\.defineProperty\((\w+), "(\w+)", \{[^}]*return (\w+\.\w+);\s*\}/.exec(node.getText());
    if (ts.isExpressionStatement(node) && passedOn) return `${passedOn[1]}.${passedOn[2]}=${passedOn[3]};`; // it never changes again
    if (!ts.isCallExpression(node) || node.expression.getText() !== 'require') return undefined;
    const { text } = node.arguments[0];
    if (text.startsWith('.')) return `${node.getText()}(nest)`;
    if (!isNest(text)) return undefined;
    if (!imports.includes(text))
      throw new Error(`${fileName}: import ${text} statically, so that a door can hand it over.`);
    return `nest['${text}']`;
  };
}

const sourceMaps = {
  name: "the compiler's source maps",
  load(id) {
    const code = fs.readFileSync(id, 'utf8').replace(/^#!.*/, '');
    return fs.existsSync(`${id}.map`) ? { code, map: JSON.parse(fs.readFileSync(`${id}.map`, 'utf8')) } : { code };
  },
};

/** The few helpers of decorators become part of the code, so that nobody has to install them. */
const compilerHelpers = {
  name: 'tslib',
  resolveId: (id) => (id === 'tslib' ? fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs')) : null),
};

function importingDoor(name, { chunk, names, nest }, program) {
  const up = '../'.repeat(name.split('/').length);
  const imports = nest.map((each) => `import * as ${identifier(each)} from '${each}';\n`).join('');
  const handed = nest.map((each) => `'${each}': ${identifier(each)}`).join(', ');
  const call = `code({ ${handed} })`;
  return (
    (program ? '#!/usr/bin/env node\n' : '') +
    `${imports}import code from '${up}code/${chunk}';\n` +
    (names.length > 0 ? `export const { ${names.join(', ')} } = ${call};\n` : `${call};\n`)
  );
}

function requiringDoor(name, { chunk, names, nest }) {
  const up = '../'.repeat(name.split('/').length);
  const handed = nest.map((each) => `'${each}': require('${each}')`).join(', ');
  return (
    `'use strict';\nmodule.exports = require('${up}code/${chunk}')({ ${handed} });\n` +
    // Never runs, but is how Node finds the names when it is imported after all.
    `0 && (module.exports = { ${names.join(', ')} });\n`
  );
}

const chunkName = (entry) => entry.replace(/\/(index|main)$/, '').replaceAll('/', '-');
const identifier = (name) => name.replace(/[^a-z]+([a-z])?/g, (_, letter = '') => letter.toUpperCase());
const namesOf = (chunks, entry) => chunks[`${chunkName(entry)}.cjs`].exports;

/** The Nest packages that an entry's code imports, and the files below it. */
function nestBelow(chunks, entry) {
  const seen = new Set();
  (function visit(file) {
    if (seen.has(file)) return;
    seen.add(file);
    chunks[file]?.imports.forEach(visit);
  })(`${chunkName(entry)}.cjs`);
  return [...seen].filter(isNest).sort();
}

function write(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}
