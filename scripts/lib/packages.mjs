import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { compilePackage } from './compile-package.mjs';
import { libraries, manifestIn } from './manifest.mjs';
import { root } from './project.mjs';

/** @import { Manifest } from './manifest.mjs' */

/**
 * What npm says of a package that it has packed.
 *
 * @typedef {object} Packed
 * @property {string} name
 * @property {string} file
 * @property {number} size
 * @property {number} unpackedSize
 * @property {string[]} files
 */

/** Leaves each library as it is published in a folder below `target`. Gives the folders. */
export async function leavePackages(/** @type {string} */ target) {
  const folders = [];
  for (const library of libraries()) {
    const folder = path.join(target, path.basename(library));
    const manifest = published(manifestIn(library));
    fs.rmSync(folder, { recursive: true, force: true });
    await compilePackage(library, manifest, folder);
    for (const file of manifest.files?.filter((each) => each !== 'dist') ?? []) {
      const own = path.join(library, file);
      fs.cpSync(fs.existsSync(own) ? own : path.join(root, file), path.join(folder, file), { recursive: true });
    }
    fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    folders.push(folder);
  }
  return folders;
}

/**
 * Without what only this repository understands: the way to the sources, scripts, development dependencies. With the ways
 * to the declarations of the further entries that TypeScript's `moduleResolution: node10` needs, which reads no `exports`.
 *
 * @returns {Manifest}
 */
function published(/** @type {Manifest} */ manifest) {
  const further = Object.entries(manifest.exports).flatMap(([entry, { require: door }]) =>
    entry !== '.' && door ? [[entry.slice('./'.length), [door.types]]] : [],
  );
  const typesVersions = further.length > 0 ? { '*': Object.fromEntries(further) } : undefined;
  const here = ['payment-source', 'scripts', 'devDependencies'];
  return JSON.parse(
    JSON.stringify({ ...manifest, typesVersions }, (key, value) => (here.includes(key) ? undefined : value)),
  );
}

/**
 * Packs a folder as `npm publish` would, or, as a dry run, only says what would be packed.
 *
 * @returns {Packed}
 */
export function pack(/** @type {string} */ folder, /** @type {string} */ into, { dryRun = false } = {}) {
  const args = ['pack', folder, '--json', '--pack-destination', into, '--loglevel=error', `--dry-run=${dryRun}`];
  const [packed] = Object.values(JSON.parse(execFileSync('npm', args, { cwd: into, encoding: 'utf8' })));
  const files = packed.files.map((/** @type {{ path: string }} */ file) => file.path);
  return { ...packed, file: path.join(into, packed.filename), files };
}
