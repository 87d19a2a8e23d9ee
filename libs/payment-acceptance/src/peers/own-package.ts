import { realpathSync } from 'node:fs';
import { manifestIn, upwards, type InstalledPackage } from './installed-package.js';

export const OWN_NAME = 'nestjs-payment-acceptance';

/** This package as it is installed; `undefined` where it is not: in a bundle. */
export function ownPackage(): InstalledPackage | undefined {
  // A bundler may leave it out.
  const here = import.meta.dirname as string | undefined;
  if (here === undefined) return undefined;
  for (const folder of upwards(here)) {
    const manifest = manifestIn(folder);
    if (manifest?.name === undefined) continue;
    return manifest.name === OWN_NAME ? { folder: realpathSync(folder), manifest } : undefined;
  }
  return undefined;
}

/** The packages that an application must have beside this one, with the ranges in which they fit. */
export function requiredPeers({ manifest }: InstalledPackage): [name: string, range: string][] {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  return Object.entries(peerDependencies).filter(([name]) => peerDependenciesMeta[name]?.optional !== true);
}
