import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { compilePackage } from './compile-package.mjs';
import { root } from './project.mjs';

/** Leaves each library as it is published in a folder below `target`. Gives the folders. */
export async function leavePackages(target) {
  const folders = [];
  for (const name of fs.readdirSync(path.join(root, 'libs'))) {
    const library = path.join(root, 'libs', name);
    const folder = path.join(target, name);
    const manifest = published(JSON.parse(fs.readFileSync(path.join(library, 'package.json'), 'utf8')));
    fs.rmSync(folder, { recursive: true, force: true });
    await compilePackage(library, manifest, folder);
    const beside = manifest.files.includes('Dockerfile') ? [path.join(library, 'Dockerfile')] : [];
    const read = [path.join(library, 'README.md'), path.join(root, 'CHANGELOG.md'), path.join(root, 'LICENSE')];
    for (const file of [...read, ...beside]) {
      fs.copyFileSync(file, path.join(folder, path.basename(file)));
    }
    fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    folders.push(folder);
  }
  return folders;
}

/**
 * Without what only this repository understands: the way to the sources, scripts, development dependencies. With the ways
 * to the declarations of the further entries that TypeScript's `moduleResolution: node10` needs, which reads no `exports`.
 */
function published({ scripts: _scripts, devDependencies: _devDependencies, ...manifest }) {
  const further = Object.entries(manifest.exports).filter(([entry, { require: cjs }]) => entry !== '.' && cjs);
  const types = Object.fromEntries(further.map(([entry, { require: cjs }]) => [entry.slice('./'.length), [cjs.types]]));
  return JSON.parse(
    JSON.stringify({ ...manifest, ...(further.length > 0 && { typesVersions: { '*': types } }) }),
    (key, value) => (key === 'payment-source' ? undefined : value),
  );
}

/** Packs a folder as `npm publish` would: `{ name, file, unpackedSize, files }`. */
export function pack(folder, into) {
  const args = ['pack', folder, '--json', '--pack-destination', into, '--loglevel=error'];
  const [packed] = Object.values(JSON.parse(execFileSync('npm', args, { cwd: into, encoding: 'utf8' })));
  return { ...packed, file: path.join(into, packed.filename), files: packed.files.map((file) => file.path) };
}
