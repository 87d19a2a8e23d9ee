import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { manifestIn, upwards, type Manifest } from '../../peers/installed-package.js';
import { packageManagerOf, type PackageManager } from '../../peers/package-manager.js';
import { HostVersions } from './host-versions.js';
import { sourceFacts, type SourceFacts } from './source-facts.js';
import { readSources } from './source-files.js';

/** The application in a folder, read without running anything of it. */
export interface Host {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The root of the repository, if the application is one of several packages in it. */
  readonly workspaceRoot: string | undefined;
  readonly manager: PackageManager;
  readonly versions: HostVersions;
  readonly modules: 'ES modules' | 'CommonJS';
  readonly typeScript: boolean;
  readonly testRunner: 'Jest' | 'Jest with ES modules' | 'Vitest' | undefined;
  readonly sources: SourceFacts;
  /** Names of the variables in `.env`; `undefined` if there is no such file. */
  readonly envNames: readonly string[] | undefined;
}

/** @returns the application, or a sentence that says why there is none here */
export function lookAtHost(folder: string): Host | string {
  const manifest = manifestIn(folder);
  if (!manifest) {
    return `${folder} has no package.json that can be read. Run this in the folder of your application.`;
  }
  const workspaceRoot = workspaceRootOf(folder);
  const rootManifest = workspaceRoot === undefined ? undefined : manifestIn(workspaceRoot);
  const manager = packageManagerOf(folder);
  const versions = new HostVersions(folder, [manifest, ...(rootManifest ? [rootManifest] : [])], manager);
  if (versions.declared('@nestjs/common') === undefined) {
    const others = applicationsBelow(folder);
    return others.length > 0
      ? `${folder} is the root of several packages. Run this in the folder of your application: ${others.join(', ')}.`
      : `${folder}/package.json does not name @nestjs/common: this is no NestJS application. Run this in the folder of one.`;
  }
  return {
    folder,
    manifest,
    workspaceRoot,
    manager,
    versions,
    modules: manifest.type === 'module' ? 'ES modules' : 'CommonJS',
    typeScript: existsSync(path.join(folder, 'tsconfig.json')),
    testRunner: testRunnerOf(manifest, versions),
    sources: sourceFacts(readSources(folder)),
    envNames: envNamesIn(path.join(folder, '.env')),
  };
}

function workspaceRootOf(folder: string): string | undefined {
  return upwards(path.dirname(folder)).find(
    (each) => manifestIn(each)?.workspaces !== undefined || existsSync(path.join(each, 'pnpm-workspace.yaml')),
  );
}

/** Packages with NestJS, two folders deep, as workspaces usually are. */
function applicationsBelow(folder: string): string[] {
  const foldersIn = (place: string): string[] =>
    readdirSync(path.join(folder, place), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
      .map((entry) => path.posix.join(place, entry.name));
  const top = foldersIn('');
  return [...top, ...top.flatMap(foldersIn)].filter((place) => {
    const { dependencies = {} } = manifestIn(path.join(folder, place)) ?? {};
    return '@nestjs/core' in dependencies;
  });
}

function testRunnerOf({ scripts = {} }: Manifest, versions: HostVersions): Host['testRunner'] {
  if (versions.declared('jest') !== undefined) {
    return Object.values(scripts).some((script) => script.includes('--experimental-vm-modules'))
      ? 'Jest with ES modules'
      : 'Jest';
  }
  return versions.declared('vitest') === undefined ? undefined : 'Vitest';
}

/** Only the names: the values are secrets. */
function envNamesIn(file: string): string[] | undefined {
  if (!existsSync(file)) return undefined;
  return [...readFileSync(file, 'utf8').matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=/gm)].map(
    ([, name = '']) => name,
  );
}
