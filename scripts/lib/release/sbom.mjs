import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../project.mjs';

/** @import { Manifest } from '../manifest.mjs' */

/** @typedef {{ dependencies?: Record<string, string> }} Locked What package-lock.json says of a package. */

/**
 * Writes what an installation of a library brings along, as CycloneDX: its dependencies and theirs, in the versions that
 * it was tested with. Its peers are its host's.
 *
 * `npm sbom --workspace` leaves out all but the workspaces themselves, so npm is shown a package-lock.json of this one.
 */
export function writeSbom(/** @type {Manifest} */ manifest, /** @type {string} */ library, /** @type {string} */ file) {
  const { name, version, license, description, dependencies } = manifest;
  const own = { name, version, license, description, dependencies };
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'sbom-'));
  const folder = path.join(temporary, name); // npm takes the name from it
  const lock = { name, version, lockfileVersion: 3, packages: { '': own, ...lockedBelow(library, own) } };
  try {
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(own));
    fs.writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
    const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=library', '--package-lock-only', '--loglevel=error'];
    fs.writeFileSync(file, execFileSync('npm', args, { cwd: folder }));
  } finally {
    fs.rmSync(temporary, { recursive: true });
  }
}

/** What the repository's package-lock.json says of the packages below a library, at the places where they would be. */
function lockedBelow(/** @type {string} */ library, /** @type {Locked} */ own) {
  /** @type {Record<string, Locked>} */
  const packages = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages;
  const home = path.relative(root, library);
  /** @type {Record<string, Locked>} */
  const found = {};
  (function visit(/** @type {string} */ place, /** @type {Locked} */ { dependencies = {} }) {
    for (const name of Object.keys(dependencies)) {
      const there = nearest(packages, place, name);
      const key = there.replace(`${home}/`, '');
      const locked = packages[there];
      if (found[key] || !locked) continue;
      found[key] = locked;
      visit(there, locked);
    }
  })(home, own);
  return found;
}

/** Where Node finds a package, seen from another. */
function nearest(
  /** @type {Record<string, unknown>} */ packages,
  /** @type {string} */ place,
  /** @type {string} */ name,
) {
  for (let above = place; ; above = path.posix.dirname(above)) {
    const there = path.posix.join(above, 'node_modules', name);
    if (there in packages) return there;
    if (above === '.') throw new Error(`package-lock.json does not have ${name}, which ${place} needs.`);
  }
}
