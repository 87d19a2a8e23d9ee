import fs from 'node:fs';
import path from 'node:path';
import { manifestIn } from '../../scripts/lib/manifest.mjs';
import { root } from '../../scripts/lib/project.mjs';
import { installed } from './install.mjs';

/** @import { Packed } from '../../scripts/lib/packages.mjs' */

/** @typedef {{ dependencies: Record<string, string>, devDependencies: Record<string, string> }} HostManifest */

const templates = path.join(root, 'test/hosts');

/**
 * Makes an application out of a template and what all of them share, and installs what it needs, our packages among it.
 * Gives what {@link installed} does.
 */
export async function makeHost(
  /** @type {{ template: string, oldest?: boolean, folder: string, packages: Packed[] }} */
  { template, oldest = false, folder, packages },
) {
  fs.cpSync(path.join(templates, template), folder, { recursive: true });
  for (const shared of ['app', 'checks', 'host.ts', 'payment.host.ts', 'testing.host.ts']) {
    fs.cpSync(path.join(templates, shared), path.join(folder, shared), { recursive: true });
  }
  const file = path.join(folder, 'package.json');
  /** @type {HostManifest} */
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8'));
  if (oldest) pinToOldest(manifest, packages);
  for (const { name, file: tarball } of packages) manifest.dependencies[name] = `file:${tarball}`;
  fs.writeFileSync(file, JSON.stringify(manifest, null, 2));

  return installed(folder);
}

/** Before it, the package says that it goes with Nest 10. */
const OLDEST_FASTIFY = '11.0.3';

/** The least version of the first range that our packages name; the other hosts have the newest of each. */
function pinToOldest(/** @type {HostManifest} */ manifest, /** @type {Packed[]} */ packages) {
  const libraries = packages.map(({ name }) => path.join(root, 'libs', name.replace('nestjs-', '')));
  /** @type {Record<string, string>} */
  const peers = Object.assign({}, ...libraries.map((library) => manifestIn(library).peerDependencies));
  for (const group of [manifest.dependencies, manifest.devDependencies]) {
    for (const name of Object.keys(group)) {
      const range = name === '@nestjs/testing' ? peers['@nestjs/core'] : peers[name];
      if (range) group[name] = range.replace(/^\^| .*/g, '');
      if (name === '@nestjs/platform-fastify') group[name] = OLDEST_FASTIFY;
    }
  }
}
