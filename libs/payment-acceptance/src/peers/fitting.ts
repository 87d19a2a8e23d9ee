import { alternativesOf, commandRange, satisfies } from './version-range.js';
import type { Manifest } from './installed-package.js';

/**
 * The range of a peer to install beside a version of @nestjs/common. Each alternative of our ranges belongs to a major version
 * of NestJS, in the same order: newer ones often install beside an older NestJS, but are ES modules only, which its Jest
 * cannot load.
 */
export function fittingRange(peers: Readonly<Record<string, string>>, name: string, nest: string | undefined): string {
  const own = alternativesOf(peers[name] ?? '*');
  const generations = alternativesOf(peers['@nestjs/common'] ?? '*');
  const generation = generations.findIndex((range) => nest !== undefined && satisfies(nest, range));
  return (generation >= 0 && own.length === generations.length ? own[generation] : own.at(-1)) ?? '*';
}

/** The package with its range as the command to install it takes it: `@nestjs/axios@4`. */
export function fittingPackage(peers: Manifest['peerDependencies'], name: string, nest: string | undefined): string {
  return `${name}@${commandRange(fittingRange(peers ?? {}, name, nest))}`;
}
