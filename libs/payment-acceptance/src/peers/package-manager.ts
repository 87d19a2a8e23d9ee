import { existsSync } from 'node:fs';
import path from 'node:path';
import { manifestIn, upwards } from './installed-package.js';

export type ManagerName = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** The package manager of an application, and what it was told by; by nothing, it is assumed to be npm. */
export interface PackageManager {
  readonly name: ManagerName;
  readonly because: string | undefined;
  /** The lockfile, if there is one. */
  readonly lockfile: string | undefined;
}

const LOCKFILES: Readonly<Record<string, ManagerName>> = {
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
};

/** By a lockfile, or the property `packageManager`, of the folder or of the nearest one above it. */
export function packageManagerOf(folder: string): PackageManager {
  for (const each of upwards(folder)) {
    const lockfile = Object.keys(LOCKFILES).find((file) => existsSync(path.join(each, file)));
    const declared = /^(npm|pnpm|yarn|bun)@/.exec(manifestIn(each)?.packageManager ?? '')?.[1] as
      ManagerName | undefined;
    const name = declared ?? (lockfile === undefined ? undefined : LOCKFILES[lockfile]);
    if (name === undefined) continue;
    return {
      name,
      because: declared ? 'packageManager in package.json' : lockfile,
      lockfile: lockfile === undefined ? undefined : path.join(each, lockfile),
    };
  }
  return { name: 'npm', because: undefined, lockfile: undefined };
}

/** The command that installs packages, such as `@nestjs/axios@4`. */
export function installCommand(
  manager: ManagerName,
  packages: readonly string[],
  { dev = false, exact = false } = {},
): string {
  const verb = manager === 'npm' ? 'install' : 'add';
  const flag = { npm: ' --save-dev', pnpm: ' --save-dev', yarn: ' --dev', bun: ' --dev' }[manager];
  const pin = { npm: ' --save-exact', pnpm: ' --save-exact', yarn: ' --exact', bun: ' --exact' }[manager];
  return `${manager} ${verb}${dev ? flag : ''}${exact ? pin : ''} ${packages.join(' ')}`;
}

/** The command that runs a program of an installed package. */
export function runCommand(manager: ManagerName, command: string): string {
  return `${{ npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }[manager]} ${command}`;
}
