import { fittingPackage, fittingRange } from '../../peers/fitting.js';
import type { InstalledPackage } from '../../peers/installed-package.js';
import { requiredPeers } from '../../peers/own-package.js';
import { installCommand } from '../../peers/package-manager.js';
import { alternativesOf, satisfies } from '../../peers/version-range.js';
import type { Host } from './look-at-host.js';

const FITTING_DATABASES = ['postgres', 'mariadb'];

/** What stands in the way, each with what to do. */
export function flawsOf(host: Host, own: InstalledPackage, node: string): string[] {
  return [...nodeFlaws(own, node), ...peerFlaws(host, own), ...databaseFlaws(host)];
}

function nodeFlaws({ manifest }: InstalledPackage, node: string): string[] {
  const needed = manifest.engines?.node ?? '*';
  return satisfies(node, needed) ? [] : [`Node.js ${node} runs this, needed is ${needed}: install a newer one.`];
}

function peerFlaws({ versions, manager, testRunner }: Host, own: InstalledPackage): string[] {
  const peers = own.manifest.peerDependencies ?? {};
  const nest = versions.of('@nestjs/common')?.version;
  const [oldest = '*'] = alternativesOf(peers['@nestjs/common'] ?? '*');
  if (nest !== undefined && !satisfies(nest, peers['@nestjs/common'] ?? '*')) {
    return [
      `NestJS ${nest} is here (${versions.of('@nestjs/common')?.from}), needed is ${peers['@nestjs/common']}: upgrade the application first, as https://docs.nestjs.com/migration-guide says.`,
    ];
  }
  return requiredPeers(own).flatMap(([name, range]) => {
    const has = versions.declared(name) === undefined ? undefined : versions.of(name);
    if (!has) return [];
    const command = installCommand(manager.name, [fittingPackage(peers, name, nest)]);
    if (!satisfies(has.version, range)) {
      return [`${name} ${has.version} is here (${has.from}), needed is ${range}: upgrade it, ${command}`];
    }
    if (!name.startsWith('@nestjs/') || satisfies(has.version, fittingRange(peers, name, nest))) return [];
    // Newer ones install beside an older NestJS, and work but in its Jest.
    if (nest !== undefined && satisfies(nest, oldest) && testRunner !== 'Jest') return [];
    return [
      `${name} ${has.version} (${has.from}) does not go with NestJS ${nest} and ${testRunner ?? 'no test runner'}: ${command}`,
    ];
  });
}

function databaseFlaws({ sources: { databases } }: Host): string[] {
  const unfit = databases.filter(({ type }) => !FITTING_DATABASES.includes(type));
  const [first] = unfit;
  if (!first || unfit.length < databases.length) return [];
  const found = `${first.file} has ${first.code}`;
  const second = 'give the payments a data source of PostgreSQL, and name it in the option dataSource';
  if (first.type === 'mysql') {
    return [
      `${found}, and MySQL is not supported: write 'mariadb' if the server is MariaDB 10.6 or newer, else ${second}.`,
    ];
  }
  return [`${found}, which is not supported: ${second}.`];
}
