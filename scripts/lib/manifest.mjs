import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';

/**
 * A library's package.json, as far as the scripts read it.
 *
 * @typedef {{ types: string, default: string }} Door
 * @typedef {{ import?: Door, require?: Door, [condition: string]: unknown }} Conditions
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} [license]
 * @property {string} [description]
 * @property {Record<string, Conditions>} exports
 * @property {Record<string, string>} [bin]
 * @property {string[]} [files]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, { optional?: boolean }>} [peerDependenciesMeta]
 * @property {{ url?: string, directory?: string }} [repository]
 * @property {{ access?: string, provenance?: boolean }} [publishConfig]
 */

/** @typedef {{ name: string, isProgram: boolean }} Entry What lies at `./dist/esm/NAME.js`. */

/** The folders of all libraries. */
export function libraries(base = root) {
  const folder = path.join(base, 'libs');
  const names = fs.readdirSync(folder).sort();
  return names.map((name) => path.join(folder, name));
}

/** @returns {Manifest} */
export function manifestIn(/** @type {string} */ folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
}

/** What a manifest's `exports` and `bin` lead to. */
export function entriesOf(/** @type {Manifest} */ { exports, bin = {} }) {
  const doors = Object.values(exports).flatMap((conditions) => conditions.import?.default ?? []);
  const nameOf = (/** @type {string} */ file) => path.posix.relative('dist/esm', file).replace(/\.js$/, '');
  return [
    ...doors.map((file) => ({ name: nameOf(file), isProgram: false })),
    ...Object.values(bin).map((file) => ({ name: nameOf(file), isProgram: true })),
  ];
}

/** Whether a manifest names the package of a specifier, so that whoever installs the one has the other. */
export function isInstalledWith(/** @type {Manifest} */ manifest, /** @type {string} */ specifier) {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  return name in { ...manifest.dependencies, ...manifest.peerDependencies };
}
