import { createRequire } from 'node:module';
import path from 'node:path';
import { fittingPackage } from './fitting.js';
import { installedPackage, type InstalledPackage } from './installed-package.js';
import { OWN_NAME, ownPackage, requiredPeers } from './own-package.js';
import { installCommand, packageManagerOf } from './package-manager.js';
import { PaymentPeerError } from './peer.error.js';
import { satisfies } from './version-range.js';

// The doors of the main entry call this before the rest is loaded: docs/decisions/0004-one-code-two-doors.md.

/** Of these, one copy must be shared with the application: their classes are tokens, and their metadata stays in the copy. */
const SHARED = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'typeorm'];

/**
 * Refuses packages beside this one that are missing, of an unfit version, or there twice. Reads only their package.json.
 * @throws PaymentPeerError
 */
export function checkPeers(): void {
  const own = ownPackage();
  // In a bundle the versions were chosen when it was made.
  if (!own) return;
  const problems = peerProblems(own, startFolders());
  if (problems.length > 0) throw new PaymentPeerError(problems);
}

/** @param starts folders that the application may be in */
export function peerProblems(own: InstalledPackage, starts: readonly string[]): string[] {
  const found = new Map(requiredPeers(own).map(([name]) => [name, installedPackage(own.folder, name)]));
  const nest = found.get('@nestjs/common')?.manifest.version;
  const problem = (name: string, sentence: string): string =>
    `${sentence} ${fittingCommand(own, name, nest, starts[0])}`;

  return [
    ...requiredPeers(own).flatMap(([name, range]) => {
      const installed = found.get(name);
      if (!installed) return resolves(own, name) ? [] : [problem(name, `${name} is missing:`)];
      const { version = '', peerDependencies = {} } = installed.manifest;
      if (!satisfies(version, range)) {
        return [problem(name, `${name} ${version} is installed, needed is ${range}:`)];
      }
      const takesNest = peerDependencies['@nestjs/common'];
      return nest !== undefined && takesNest !== undefined && !satisfies(nest, takesNest)
        ? [problem(name, `${name} ${version} does not go with @nestjs/common ${nest}:`)]
        : [];
    }),
    ...copyProblems(own, starts),
  ];
}

/** What could not be loaded, as a sentence; `undefined` if the error says nothing about a package of ours. */
export function loadProblem(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  const own = ownPackage();
  const specifier = /Cannot find (?:module|package) '([^']+)'/.exec(String(message))?.[1];
  const name = own && requiredPeers(own).find(([peer]) => specifier === peer || specifier?.startsWith(`${peer}/`))?.[0];
  if (!own || name === undefined) return undefined;
  const nest = installedPackage(own.folder, '@nestjs/common')?.manifest.version;
  return `${name} is missing: ${fittingCommand(own, name, nest)}`;
}

/** The command that installs a peer in the version that goes with this NestJS. */
function fittingCommand(own: InstalledPackage, name: string, nest: string | undefined, folder = '.'): string {
  return installCommand(packageManagerOf(folder).name, [fittingPackage(own.manifest.peerDependencies, name, nest)]);
}

/**
 * Loads a package of the application for the code, by `require`. One that is an ES module beside a NestJS that is not, the
 * application's Jest cannot require: then says which version it can.
 * @throws PaymentPeerError
 */
export function requiredPeer<Loaded>(name: string, load: () => Loaded): Loaded {
  try {
    return load();
  } catch (error) {
    const own = ownPackage();
    if (!own) throw error;
    const [installed, nest] = [name, '@nestjs/common'].map((each) => installedPackage(own.folder, each)?.manifest);
    if (installed?.type !== 'module' || !nest?.version || nest.type === 'module') throw error;
    const command = fittingCommand(own, name, nest.version);
    throw new PaymentPeerError([
      `${name} ${installed.version} is an ES module, which cannot be required here, unlike NestJS ${nest.version}: ${command}`,
    ]);
  }
}

function resolves({ folder }: InstalledPackage, name: string): boolean {
  try {
    createRequire(path.join(folder, 'package.json')).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Compared is only what surely belongs together: an application in whose folder this very package is found, and what is found
 * from there under the names that are shared.
 */
function copyProblems(own: InstalledPackage, starts: readonly string[]): string[] {
  const start = starts.find((folder) => installedPackage(folder, OWN_NAME)?.folder === own.folder);
  if (start === undefined) return [];
  const twice = SHARED.flatMap((name) => {
    const [ours, theirs] = [installedPackage(own.folder, name), installedPackage(start, name)];
    return ours && theirs && ours.folder !== theirs.folder ? [{ name, ours: ours.folder, theirs: theirs.folder }] : [];
  });
  const [first] = twice;
  if (!first) return [];
  const { name: manager } = packageManagerOf(start);
  const linked = !own.folder.split(path.sep).includes('node_modules');
  const advice = linked
    ? `${OWN_NAME} is linked to ${own.folder}: install its packed file, or from the registry`
    : { npm: 'npm dedupe', pnpm: 'pnpm dedupe', yarn: 'yarn dedupe', bun: 'bun install --force' }[manager];
  return [
    `${twice.map(({ name }) => name).join(', ')} ${twice.length > 1 ? 'are' : 'is'} there twice, for the application in ` +
      `${first.theirs}, for ${OWN_NAME} in ${first.ours}; both must have one copy: ${advice}`,
  ];
}

/** Where the application is: the folder of its program, unless that is a tool's, and the current one. */
function startFolders(): string[] {
  const program = process.argv[1];
  const isTool = program === undefined || program.split(path.sep).includes('node_modules');
  return [process.cwd(), ...(isTool ? [] : [path.dirname(program)])];
}
