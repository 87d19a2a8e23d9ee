import { readFileSync } from 'node:fs';
import path from 'node:path';
import { installedPackage, type Manifest } from '../../peers/installed-package.js';
import type { PackageManager } from '../../peers/package-manager.js';
import { versionOf } from '../../peers/version-range.js';

/** A version, and where it stands. */
export interface HostVersion {
  readonly version: string;
  readonly from: string;
}

/** What finds the version of a package that the application has: as installed, else as locked, else the least that is asked for. */
export class HostVersions {
  private readonly lockfile: { readonly name: string; readonly text: string } | undefined;

  /** @param manifests of the application, and of the root of its repository */
  constructor(
    private readonly folder: string,
    private readonly manifests: readonly Manifest[],
    { lockfile }: PackageManager,
  ) {
    this.lockfile = readLockfile(lockfile);
  }

  /** The range in a package.json; `undefined` where none of them names the package. */
  declared(name: string): string | undefined {
    for (const { dependencies, devDependencies, optionalDependencies } of this.manifests) {
      const range = { ...devDependencies, ...optionalDependencies, ...dependencies }[name];
      if (range !== undefined) return range;
    }
    return undefined;
  }

  of(name: string): HostVersion | undefined {
    const installed = installedPackage(this.folder, name)?.manifest.version;
    if (installed !== undefined) return { version: installed, from: 'node_modules' };
    const range = this.declared(name);
    if (range === undefined) return undefined;
    const locked = this.lockfile && lockedVersion(this.lockfile, name);
    if (locked !== undefined) return { version: locked, from: this.lockfile?.name ?? '' };
    const least = versionOf(range.replace(/^(?:npm:|workspace:)?(?:\^|~|>=|=)?\s*/, ''));
    return least && { version: least.join('.'), from: `package.json: ${range}` };
  }
}

function readLockfile(file: string | undefined): { name: string; text: string } | undefined {
  if (file === undefined || file.endsWith('.lockb')) return undefined;
  return { name: path.basename(file), text: readFileSync(file, 'utf8') };
}

function lockedVersion({ name: lockfile, text }: { name: string; text: string }, name: string): string | undefined {
  const literal = name.replace(/[/.@-]/g, '\\$&');
  const patterns: Readonly<Record<string, RegExp>> = {
    'package-lock.json': new RegExp(
      `"node_modules/${literal}":\\s*\\{\\s*(?:"name":\\s*"[^"]*",\\s*)?"version":\\s*"([^"]+)"`,
    ),
    'pnpm-lock.yaml': new RegExp(`^ +'?${literal}'?:\\n +specifier: .*\\n +version: ([^\\s(]+)`, 'm'),
    'yarn.lock': new RegExp(`^"?${literal}@.*:\\n +version:? "?([^"\\n]+)`, 'm'),
    'bun.lock': new RegExp(`"${literal}": \\["${literal}@([^"]+)"`),
  };
  return patterns[lockfile === 'npm-shrinkwrap.json' ? 'package-lock.json' : lockfile]?.exec(text)?.[1];
}
