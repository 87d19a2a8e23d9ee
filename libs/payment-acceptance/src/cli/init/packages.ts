import { existsSync } from 'node:fs';
import path from 'node:path';
import { fittingPackage } from '../../peers/fitting.js';
import { manifestIn, upwards, type InstalledPackage } from '../../peers/installed-package.js';
import { OWN_NAME, requiredPeers } from '../../peers/own-package.js';
import { installCommand, type ManagerName } from '../../peers/package-manager.js';
import { commandRange } from '../../peers/version-range.js';
import type { Host } from './look-at-host.js';

const SANDBOX = 'nestjs-payment-sandbox';

/** What is missing, as the package manager takes it: `@nestjs/axios@4`, `./nestjs-payment-acceptance-1.0.0.tgz`. */
export interface MissingPackages {
  readonly missing: readonly string[];
  /** For development and tests. */
  readonly missingForTests: readonly string[];
  readonly commands: readonly string[];
  /** What could not be found out. */
  readonly notes: readonly string[];
}

/** Leaves out whatever a package.json names already, so that no range and no pin of the application changes. */
export function missingPackages(host: Host, own: InstalledPackage): MissingPackages {
  const { versions, manager } = host;
  const isMissing = (name: string): boolean => versions.declared(name) === undefined;
  const nest = versions.of('@nestjs/common')?.version;
  const archive = archiveOf(own);
  const sandboxArchive = archive && path.join(path.dirname(archive), `${SANDBOX}-${own.manifest.version}.tgz`);
  const range = commandRange(own.manifest.version ?? '');
  const given = (name: string, file: string | undefined): string =>
    file === undefined ? `${name}@${range}` : asArgument(manager.name, name, host.folder, file);

  const missing = [
    ...(isMissing(OWN_NAME) ? [given(OWN_NAME, archive)] : []),
    ...requiredPeers(own).flatMap(([name]) =>
      isMissing(name) ? [fittingPackage(own.manifest.peerDependencies, name, nest)] : [],
    ),
    ...(isMissing('pg') && isMissing('mysql2') ? [driverOf(host)] : []),
  ];
  const exact = pinsAll(host);
  const sandboxLost = sandboxArchive !== undefined && !existsSync(sandboxArchive);
  const missingForTests = isMissing(SANDBOX) && !sandboxLost ? [given(SANDBOX, sandboxArchive)] : [];
  return {
    missing,
    missingForTests,
    commands: [
      ...(missing.length > 0 ? [installCommand(manager.name, missing, { exact })] : []),
      ...(missingForTests.length > 0 ? [installCommand(manager.name, missingForTests, { dev: true, exact })] : []),
    ],
    notes:
      isMissing(SANDBOX) && sandboxLost && archive !== undefined
        ? [
            `${path.basename(sandboxArchive)}, the service for development and tests, is not beside ${path.basename(archive)}: pack it, too.`,
          ]
        : [],
  };
}

/** Whether the application names exact versions alone, and so wants no range for what it adds. */
function pinsAll({ manifest: { dependencies = {} } }: Host): boolean {
  const ranges = Object.values(dependencies).filter((range) => /^[~^]?\d/.test(range));
  return ranges.length > 0 && ranges.every((range) => /^\d+\.\d+\.\d+[\w.+-]*$/.test(range));
}

/** The packed file that this package was installed from, by npx or by the application. */
function archiveOf({ folder }: InstalledPackage): string | undefined {
  for (const each of upwards(path.dirname(folder))) {
    const { dependencies, devDependencies } = manifestIn(each) ?? {};
    const [, file] = /^(?:file:)?([^:]*\.tgz)$/.exec({ ...devDependencies, ...dependencies }[OWN_NAME] ?? '') ?? [];
    if (file !== undefined) return path.resolve(each, file);
  }
  return undefined;
}

/** Yarn needs the name before a file. */
function asArgument(manager: ManagerName, name: string, folder: string, file: string): string {
  const relative = path.relative(folder, file).split(path.sep).join('/');
  const place = relative.startsWith('.') || path.isAbsolute(relative) ? relative : `./${relative}`;
  const argument = manager === 'yarn' ? `${name}@file:${place}` : place;
  return /^[\w@./:+-]+$/.test(argument) ? argument : `"${argument}"`;
}

function driverOf({ sources: { databases } }: Host): string {
  return databases.some(({ type }) => type === 'mariadb') && !databases.some(({ type }) => type === 'postgres')
    ? 'mysql2@3'
    : 'pg@8';
}
