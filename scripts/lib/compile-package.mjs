import fs from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { entriesOf, isInstalledWith, libraries, manifestIn } from './manifest.mjs';
import { writeTypes } from './compile-types.mjs';

/*
 * Makes the `dist` that is published out of a library's compiled ES modules:
 *
 *   dist/code/*.cjs     the code, once: functions of the Nest packages that they use
 *   dist/esm, dist/cjs  for each entry a door that imports, or requires, Nest and hands it to the code; and the types
 *
 * Why so: docs/decisions/0004-one-code-two-doors.md.
 */

/** @import { GetModuleInfo, OutputChunk, Plugin, RenderedChunk } from 'rollup' */
/** @import { Manifest } from './manifest.mjs' */

const ours = libraries().map((library) => manifestIn(library).name);

/** Jest can only require Nest 11 and only import Nest 12, and so our packages, which have two doors. All else it can require. */
const isHandedOver = (/** @type {string} */ id) =>
  id.startsWith('@nestjs/') || ours.some((name) => id === name || id.startsWith(`${name}/`));

export async function compilePackage(
  /** @type {string} */ library,
  /** @type {Manifest} */ manifest,
  /** @type {string} */ target,
) {
  const compiled = path.join(library, 'dist/esm');
  const entries = entriesOf(manifest);
  const chunks = await writeCode(library, manifest, path.join(target, 'dist/code'), entries);
  for (const { name, isProgram } of entries) {
    const chunk = chunks.find(({ facadeModuleId }) => facadeModuleId === path.join(compiled, `${name}.js`));
    if (!chunk) throw new Error(`${manifest.name}: nothing was compiled for ${name}.`);
    const up = '../'.repeat(name.split('/').length);
    const door = {
      code: `${up}code/${chunk.fileName}`,
      names: chunk.exports,
      handed: handedTo(chunk, chunks),
    };
    const importingFile = path.join(target, 'dist/esm', `${name}.js`);
    write(importingFile, isProgram ? program(door) : importing(door));
    if (!isProgram) write(path.join(target, 'dist/cjs', `${name}.js`), requiring(door));
  }
  write(path.join(target, 'dist/cjs/package.json'), '{ "type": "commonjs" }\n');
  await writeTypes(compiled, manifest, path.join(target, 'dist'));
}

async function writeCode(
  /** @type {string} */ library,
  /** @type {Manifest} */ manifest,
  /** @type {string} */ folder,
  /** @type {ReturnType<typeof entriesOf>} */ entries,
) {
  const compiled = path.join(library, 'dist/esm');
  const nameOf = (/** @type {string} */ entry) => entry.replace(/\/(index|main)$/, '').replaceAll('/', '-');
  const bundle = await rollup({
    input: Object.fromEntries(entries.map(({ name }) => [nameOf(name), path.join(compiled, `${name}.js`)])),
    external: (id) => isInstalledWith(manifest, id) || builtinModules.includes(id.replace('node:', '')),
    plugins: [compiledFiles, compilerHelpers, ownFolder, hostFiles],
    onLog(_level, { message }) {
      throw new Error(`${manifest.name}: ${message}`);
    },
  });
  const { output } = await bundle.write({
    dir: folder,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: ({ name }) => `${name.replaceAll('.', '-')}.cjs`, // payment-acceptance.module, which entries share
    manualChunks: (id, { getModuleInfo }) => fileOf(id, compiled, getModuleInfo),
    strict: false, // the first line of each file says it
    esModule: false,
    interop: 'default',
    hoistTransitiveImports: false,
    dynamicImportInCjs: false, // in a host's Jest only `require` works everywhere
    sourcemap: true,
    sourcemapPathTransform: (file) => path.join('../..', path.relative(library, path.resolve(folder, file))),
    banner: OPENING,
    footer: 'return exports;\n}',
    plugins: [handOver],
  });
  await bundle.close();
  return output.filter((each) => each.type === 'chunk');
}

const OPENING = `'use strict';
// The entry files in ../esm and ../cjs call this with the packages that they have imported or required.
let made;
module.exports = (hostPackages) => (made ??= make(hostPackages));

function make(hostPackages) {
const exports = {};
`;

/**
 * What the main entry loads is in one file for each folder of the sources: a file for each module would take three times
 * as long to import. The rest is where the entry is that needs it. The prefix keeps the folders apart from entries, and their
 * variables from those of Nest's packages.
 */
function fileOf(/** @type {string} */ id, /** @type {string} */ compiled, /** @type {GetModuleInfo} */ getModuleInfo) {
  if (id.includes('/node_modules/tslib/')) return 'tslib';
  const [folder, ...rest] = path.relative(compiled, id).split(path.sep);
  const isPlain = folder === 'common' || /\.errors?\.js$/.test(id);
  if (isPlain && needsNoPackage(id, getModuleInfo)) return 'payment-plain';
  return rest.length > 0 && below(path.join(compiled, 'index.js'), getModuleInfo).has(id)
    ? `payment-${folder}`
    : undefined;
}

/** What a program can use before its packages are installed: errors and texts, of which other files of `common` need packages. */
function needsNoPackage(/** @type {string} */ id, /** @type {GetModuleInfo} */ getModuleInfo) {
  return [...below(id, getModuleInfo)].every((each) => path.isAbsolute(each) || each.startsWith('node:'));
}

/** The modules that one imports, near and far. */
function below(
  /** @type {string} */ id,
  /** @type {GetModuleInfo} */ getModuleInfo,
  /** @type {Set<string>} */ seen = new Set(),
) {
  for (const each of getModuleInfo(id)?.importedIds ?? []) {
    if (seen.has(each)) continue;
    seen.add(each);
    below(each, getModuleInfo, seen);
  }
  return seen;
}

/** @type {Plugin} The compiler's output with its source maps, which hold the sources. */
const compiledFiles = {
  name: 'compiled files',
  load(id) {
    const code = fs.readFileSync(id, 'utf8').replace(/^#!.*/, '');
    if (code.includes('hostPackages'))
      throw new Error(`${id}: "hostPackages" is the name of what the code gets from its doors.`);
    return fs.existsSync(`${id}.map`) ? { code, map: fs.readFileSync(`${id}.map`, 'utf8') } : { code };
  },
};

/** @type {Plugin} The few helpers of decorators become part of the code, so that nobody has to install them. */
const compilerHelpers = {
  name: 'tslib',
  resolveId: (id) => (id === 'tslib' ? fileURLToPath(import.meta.resolve('tslib/tslib.es6.mjs')) : null),
};

/** @type {Plugin} The folder of a file, unless a bundler has left it out. */
const ownFolder = {
  name: 'own folder',
  resolveImportMeta: (property) =>
    property === 'dirname' ? `(typeof __dirname === 'undefined' ? undefined : __dirname)` : undefined,
};

/** @type {Plugin} A file of the host's, whose name the program is given, may be an ES module. */
const hostFiles = {
  name: 'host files',
  renderDynamicImport: ({ targetModuleId }) => (targetModuleId === null ? { left: 'import(', right: ')' } : null),
};

/** @type {Plugin} `require('@nestjs/common')` takes what the door has handed over; another file of the code gets it in turn. */
const handOver = {
  name: 'hand over',
  renderChunk(code, { fileName, imports, dynamicImports }) {
    const late = dynamicImports.find(isHandedOver);
    if (late) throw new Error(`${fileName}: import ${late} statically, so that a door can hand it over.`);
    for (const id of new Set([...imports, ...dynamicImports])) {
      if (isHandedOver(id)) code = code.replaceAll(`require('${id}')`, `hostPackages['${id}']`);
      else if (id.endsWith('.cjs')) code = code.replaceAll(`require('./${id}')`, `require('./${id}')(hostPackages)`);
    }
    return { code, map: null }; // the lines that change are rollup's, which no source has
  },
};

/** What a door has to hand over: what its file of the code imports, and the files below that. */
function handedTo(/** @type {OutputChunk} */ chunk, /** @type {OutputChunk[]} */ chunks) {
  /** @type {Set<string>} */
  const seen = new Set();
  (function visit(/** @type {RenderedChunk | OutputChunk} */ { imports, dynamicImports }) {
    for (const id of [...imports, ...dynamicImports]) {
      if (seen.has(id)) continue;
      seen.add(id);
      const next = chunks.find(({ fileName }) => fileName === id);
      if (next) visit(next);
    }
  })(chunk);
  return [...seen].filter(isHandedOver).sort();
}

/** @typedef {{ code: string, names: string[], handed: string[] }} DoorParts */

function importing(/** @type {DoorParts} */ { code, names, handed }) {
  const local = (/** @type {string} */ id) => id.replace(/[^a-z]+([a-z])?/g, (_, letter = '') => letter.toUpperCase());
  const imports = handed.map((id) => `import * as ${local(id)} from '${id}';\n`).join('');
  const call = `code({${handed.map((id) => `\n  '${id}': ${local(id)},`).join('')}\n});\n`;
  return (
    `${imports}import code from '${code}';\n\n` +
    (names.length > 0 ? `export const {\n${names.map((name) => `  ${name},\n`).join('')}} = ${call}` : call)
  );
}

function requiring(/** @type {DoorParts} */ { code, names, handed }) {
  const given = handed.map((id) => `\n  '${id}': require('${id}'),`).join('');
  return (
    `'use strict';\n` +
    `module.exports = require('${code}')({${given}\n});\n\n` +
    '// Never runs: it tells Node the names of the exports if an ES module imports this file.\n' +
    `0 && (module.exports = {\n${names.map((name) => `  ${name},\n`).join('')}});\n`
  );
}

/** Loads Nest only once the code asks for it: a program may have work that needs none, and says what is missing. */
function program(/** @type {DoorParts} */ { code, handed }) {
  const given = handed.map((id) => `\n  get '${id}'() {\n    return require('${id}');\n  },`).join('');
  return (
    `#!/usr/bin/env node\nimport { createRequire } from 'node:module';\nimport code from '${code}';\n\n` +
    `const require = createRequire(import.meta.url);\ncode({${given}\n});\n`
  );
}

function write(/** @type {string} */ file, /** @type {string} */ text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}
