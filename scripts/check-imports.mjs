// Checks that imports run downwards, so that a part can be read, tested and replaced without those above it.
import './lib/node-version.mjs';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { root } from './lib/project.mjs';

/**
 * @typedef {{ floors: string[][]; neighbours: string[]; core?: string; guests?: Names; pure?: Names }} Rules of a library
 * @typedef {Record<string, string[]>} Names
 * @typedef {{ file: string; specifier: string; target: string | undefined }} Import of a package has no target
 */

/**
 * The floors of each library, from the top. A folder imports from lower floors; it may skip some, never climb, and
 * leaves its neighbours alone, but for the `neighbours` named here. '.' is index.ts, and the files beside it. Libraries stand
 * alone, but for the `core` that one is made for, and the `guests` of a folder: optional peers of an entry of its own. A `pure` folder imports no package and
 * nothing of Node, but for what is named here.
 * @type {Record<string, Rules>}
 */
const libraries = {
  'libs/payment-acceptance': {
    floors: [
      ['.', 'cli', 'testing'],
      ['module'],
      ['operations'],
      ['settlement'],
      ['bills', 'brokers', 'inbox'],
      ['client', 'callbacks', 'events'],
      ['config'],
      ['storage', 'telemetry'],
      ['common', 'peers'],
      ['domain'],
    ],
    neighbours: [],
    guests: { testing: ['nestjs-payment-sandbox'] },
    // An id that follows from a name is its hash.
    pure: { domain: ['domain/uuid.ts → node:crypto'] },
  },
  'libs/payment-console': {
    floors: [['.'], ['actions'], ['pages'], ['labels'], ['common']],
    neighbours: [],
    core: 'nestjs-payment-acceptance',
  },
  'libs/payment-sandbox': {
    floors: [
      ['cli'],
      ['.'],
      ['openapi'],
      ['api', 'payer-pages', 'console'],
      ['payments'],
      ['callbacks'],
      ['faults'],
      ['storage'],
      ['model'],
      ['common'],
    ],
    neighbours: [],
  },
};

/**
 * Every import that breaks a rule, as a line of text.
 * @param {string} base
 */
export function checkImports(base) {
  const problems = [];
  for (const [library, rules] of Object.entries(libraries)) {
    const folder = path.join(base, library);
    if (!fs.existsSync(path.join(folder, 'src'))) continue;
    const imports = importsBelow(folder);
    for (const { file, specifier, target } of imports) {
      const reason = target ? wrongFloor(folder, file, target, rules) : wrongPackage(folder, file, specifier, rules);
      if (reason) problems.push(`${path.relative(base, file)}: '${specifier}': ${reason}`);
    }
    for (const cycle of cycles(imports)) {
      problems.push(`a circle of imports: ${cycle.map((file) => path.relative(base, file)).join(' → ')}`);
    }
  }
  for (const app of workspaces(base, 'apps')) problems.push(...leavingImports(base, app));
  for (const example of workspaces(base, 'examples')) {
    if (!fs.existsSync(path.join(example, 'package.json'))) continue; // files for an application that the reader has
    problems.push(...leavingImports(base, example), ...missingPackages(base, example));
  }
  return problems;
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {string} target
 * @param {Rules} rules
 */
function wrongFloor(folder, file, target, { floors, neighbours }) {
  const source = path.join(folder, 'src');
  if (leaves(source, target)) {
    return isSpec(file) && target.includes(`${path.sep}test${path.sep}support${path.sep}`)
      ? undefined
      : `outside ${path.basename(folder)}`;
  }
  if (isSpec(file)) return undefined;
  if (target === path.join(source, 'index.ts')) return 'index.ts is for users of the library';

  const [from, to] = [placeOf(source, file), placeOf(source, target)];
  if (from === to || neighbours.includes(`${from} → ${to}`)) return undefined;
  const [fromFloor, toFloor] = [floorOf(floors, from), floorOf(floors, to)];
  if (fromFloor < 0 || toFloor < 0) return `${fromFloor < 0 ? from : to}/ has no floor in scripts/check-imports.mjs`;
  if (fromFloor < toFloor) return undefined;
  return fromFloor === toFloor ? `${from}/ and ${to}/ are on the same floor` : `${to}/ is above ${from}/`;
}

/**
 * The folder of a library's sources in which a file is.
 * @param {string} source
 * @param {string} file
 */
const placeOf = (source, file) => path.relative(source, path.dirname(file)).split(path.sep)[0] || '.';

/**
 * @param {string[][]} floors
 * @param {string} name
 */
const floorOf = (floors, name) => floors.findIndex((floor) => floor.includes(name));

/**
 * A package that only this repository happens to have installed is missing where the library is used.
 * @param {string} folder
 * @param {string} file
 * @param {string} specifier
 * @param {Rules} rules
 */
function wrongPackage(folder, file, specifier, { core, guests = {}, pure = {} }) {
  const name = nameOf(specifier);
  const own = path.relative(path.join(folder, 'src'), file);
  const [place = ''] = own.split(path.sep);
  if (pure[place] && !isSpec(file) && !pure[place].includes(`${own} → ${specifier}`)) return `${place}/ is pure`;
  if (name.startsWith('nestjs-payment-') && name !== core && !guests[place]?.includes(name)) {
    return 'each library stands alone';
  }
  if (isSpec(file) || specifier.startsWith('node:')) return undefined;
  const { dependencies, peerDependencies } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return name in { ...dependencies, ...peerDependencies } ? undefined : "not in the library's package.json";
}

/**
 * An app uses the libraries as a stranger would: by their names.
 * @param {string} base
 * @param {string} app
 */
function leavingImports(base, app) {
  return importsBelow(app)
    .filter(({ file, target }) => target && leaves(app, target) && !isSpec(file))
    .map(({ file, specifier }) => `${path.relative(base, file)}: '${specifier}': outside ${path.relative(base, app)}`);
}

/**
 * An example is installed by itself: what it imports, its own package.json names.
 * @param {string} base
 * @param {string} example
 */
function missingPackages(base, example) {
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(example, 'package.json'), 'utf8'));
  return importsBelow(example)
    .filter(
      ({ specifier, target }) => !target && !specifier.startsWith('node:') && !(nameOf(specifier) in dependencies),
    )
    .map(({ file, specifier }) => `${path.relative(base, file)}: '${specifier}': not in the example's package.json`);
}

/**
 * The package that a specifier leads to.
 * @param {string} specifier
 */
const nameOf = (specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/**
 * Every import, export … from and import().
 * @param {string} folder
 * @returns {Import[]}
 */
function importsBelow(folder) {
  return fs
    .readdirSync(path.join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, 'src', name))
    .flatMap((file) =>
      ts.preProcessFile(fs.readFileSync(file, 'utf8')).importedFiles.map(({ fileName: specifier }) => ({
        file,
        specifier,
        target: specifier.startsWith('.')
          ? path.resolve(path.dirname(file), specifier.replace(/\.js$/, '.ts'))
          : undefined,
      })),
    );
}

/** @param {Import[]} imports */
function* cycles(imports) {
  /** @type {Map<string, string[]>} */
  const next = new Map();
  for (const { file, target } of imports) {
    if (target) next.set(file, [...(next.get(file) ?? []), target]);
  }
  const done = new Set();
  /**
   * @param {string} file
   * @param {string[]} trail
   * @returns {Generator<string[], void>}
   */
  function* visit(file, trail) {
    if (trail.includes(file)) return yield [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return;
    for (const target of next.get(file) ?? []) yield* visit(target, [...trail, file]);
    done.add(file);
  }
  for (const file of next.keys()) yield* visit(file, []);
}

/**
 * @param {string} folder
 * @param {string} target
 */
function leaves(folder, target) {
  return path.relative(folder, target).startsWith('..');
}

/** @param {string} file */
function isSpec(file) {
  return file.endsWith('.spec.ts');
}

/**
 * @param {string} base
 * @param {string} folder
 */
function workspaces(base, folder) {
  const all = path.join(base, folder);
  return fs.existsSync(all) ? fs.readdirSync(all).map((name) => path.join(all, name)) : [];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const problems = checkImports(root);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
