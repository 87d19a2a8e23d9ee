import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { run } from './children.mjs';
import { messageOf } from './errors.mjs';
import { CommandError } from './lifecycle.mjs';
import { withLock } from './lock.mjs';
import { dataFolder, root } from './project.mjs';

/** @typedef {Record<string, { version?: string; link?: boolean; optional?: boolean }>} Packages by their places */

const modules = path.join(root, 'node_modules');
const stamp = path.join(modules, '.installed-from');

/** Installs what package-lock.json names, unless exactly that is installed. Uses built-ins only. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  const sayWhy = { onWait: () => console.log('Waiting for another command that is installing dependencies …') };
  const lock = path.join(dataFolder, 'install.lock');
  await withLock(lock, async () => isInstalled() || (await install()), sayWhy);
}

function isInstalled() {
  const wanted = lockfileHash();
  if (read(stamp) === wanted) return true;
  if (!matchesLockfile()) return false;
  fs.writeFileSync(stamp, wanted);
  return true;
}

async function install() {
  console.log('Installing dependencies (npm ci) …');
  // NODE_ENV=production or a user's own setting would leave out what building and testing needs.
  const env = { npm_config_include: 'dev' };
  const args = ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  const code = await run('npm', args, { env, stdio: ['ignore', 'ignore', 'inherit'] }).catch(messageOf);
  if (code !== 0) {
    throw new CommandError(
      `npm ci failed (${code}). It takes the packages in package-lock.json from npm's cache or over the network: ` +
        'check the connection and the npm configuration, then run the command again.',
    );
  }
  fs.writeFileSync(stamp, lockfileHash());
}

/** The platform belongs to it, because a folder may be shared between machines, and packages have native parts. */
function lockfileHash() {
  const hash = createHash('sha256').update(fs.readFileSync(path.join(root, 'package-lock.json')));
  return hash.update(`${process.platform}-${process.arch}`).digest('hex');
}

/** Did someone run npm by hand? npm notes what it has put into node_modules, once all of it is there. */
function matchesLockfile() {
  const installed = read(path.join(modules, '.package-lock.json'));
  if (installed === undefined) return false;
  /** @type {{ packages: Packages }} */
  const { packages: present } = JSON.parse(installed);
  /** @type {{ packages: Packages }} */
  const { packages: wanted } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(wanted).every(([place, { version, link, optional }]) => {
    if (!place.includes('node_modules/')) return true;
    const found = present[place];
    return found ? link || found.version === version : optional === true;
  });
}

/** @param {string} file */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
