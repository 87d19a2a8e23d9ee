import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** A package.json, as far as it is read here. */
export interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly type?: string;
  readonly packageManager?: string;
  readonly workspaces?: readonly string[] | { readonly packages?: readonly string[] };
  readonly engines?: { readonly node?: string };
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface InstalledPackage {
  /** Without symbolic links. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** The package that code in a folder would load, found as Node.js does: in the `node_modules` of the folder and of those above it. */
export function installedPackage(from: string, name: string): InstalledPackage | undefined {
  for (const folder of upwards(from)) {
    if (path.basename(folder) === 'node_modules') continue;
    const place = path.join(folder, 'node_modules', name);
    const manifest = manifestIn(place);
    if (manifest) return { folder: realpathSync(place), manifest };
  }
  return undefined;
}

/** A folder's package.json; `undefined` if there is none that can be read. */
export function manifestIn(folder: string): Manifest | undefined {
  try {
    const manifest: unknown = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8').replace(/^\uFEFF/, ''),
    );
    return typeof manifest === 'object' && manifest !== null ? manifest : undefined;
  } catch {
    return undefined;
  }
}

/** A folder and those above it, nearest first. */
export function upwards(from: string): string[] {
  const folder = path.resolve(from);
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...upwards(parent)];
}
