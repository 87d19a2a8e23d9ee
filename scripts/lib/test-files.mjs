import fs from 'node:fs';
import path from 'node:path';
import { root } from './project.mjs';

/**
 * What `npm test` leaves to `npm run test:full`: whole programs as they are built, packed and killed, documentation, and
 * searches that are the longer the better. Folders, or files.
 */
const REST = [
  'test/packages/',
  'test/scripts/',
  'test/docs/',
  'test/crash/',
  'test/data-layers/kills.spec.ts',
  'test/model/',
  'test/monitoring/alerts.spec.ts',
  'test/attacks/fuzz.spec.ts',
  'test/failures/backlog.spec.ts',
  'test/operations/cli-program.spec.ts',
  'test/sandbox/program.spec.ts',
  'test/shop/shop.spec.ts',
];

/** Those that change what Node's own modules give before the code under test is loaded. */
const LOADED_ALONE = ['test/attacks/06-digest-tricks.spec.ts'];

/** Every file of tests, as a path from the project's folder. */
export function testFiles() {
  return ['libs', 'apps', 'test'].flatMap(specsIn).sort();
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function specsIn(folder) {
  return fs.readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : specsIn(file);
    return file.endsWith('.spec.ts') ? [file] : [];
  });
}

/** @param {string} file */
export function isOfTheRest(file) {
  return REST.some((place) => file.startsWith(place));
}

/**
 * Whether it says of itself that the HTTP adapter does not matter to it: see test/support/adapters.ts.
 * @param {string} file
 */
export function runsOnOneAdapter(file) {
  return mentions(file, /\bONE_ADAPTER\b/);
}

/**
 * Whether `npm test` runs it in a short form: see test/support/forms.ts.
 * @param {string} file
 */
export function hasWholeForm(file) {
  return mentions(file, /\bWHOLE_FORM\b/);
}

/**
 * @param {string} file
 * @param {RegExp} name
 */
function mentions(file, name) {
  return name.test(fs.readFileSync(path.join(root, file), 'utf8'));
}

/**
 * Whether a process of its own modules is what it needs, or what it starts takes so long that loading is nothing.
 * @param {string} file
 */
export function isLoadedAlone(file) {
  return LOADED_ALONE.includes(file) || isOfTheRest(file);
}
