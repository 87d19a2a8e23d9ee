import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { takeOver } from './folders.mjs';
import { CommandError } from './lifecycle.mjs';

/** @import { User } from './folders.mjs' */

/**
 * Homes of servers that are thrown away: what they are called after, and how what runs on one is found and ended.
 * @typedef {{ name: string; find(home: string): { kept: boolean } | undefined; end(home: string): Promise<void> }} ServerKind
 */

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** A run of all tests takes 0.15 GB of it. */
const ENOUGH_BYTES = 1024 ** 3;

/**
 * `inMemory`: where there is plenty of that. Making and removing files, as tests do all the time, costs least there.
 * @param {User | undefined} user
 * @param {{ name: string }} kind
 * @param {{ inMemory?: boolean }} [options]
 */
export function makeTemporaryHome(user, { name }, { inMemory = false } = {}) {
  const parents = [...(inMemory && hasMuchMemory() ? [MEMORY] : []), ...temporaryParents()];
  for (const parent of parents) {
    const home = fs.mkdtempSync(path.join(parent, prefixOf(name)));
    if (takeOver(home, user)) return home;
    fs.rmdirSync(home);
  }
  throw new CommandError(`No folder for a temporary database: tried ${parents.join(', ')}.`);
}

/**
 * Ends and removes servers that a kill -9 of everything around them has left behind.
 * @param {User | undefined} user
 * @param {ServerKind} kind
 */
export async function sweepTemporaryHomes(user, { name, find, end }) {
  for (const home of temporaryHomes(user, name)) {
    const running = find(home);
    if (running?.kept) continue;
    // One without a server may be starting just now.
    const age = Date.now() - (fs.statSync(home, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (!running && age < 600_000) continue;
    await end(home);
    fs.rmSync(home, { recursive: true, force: true });
  }
}

/**
 * Homes of servers started earlier by us: those still running, and those left behind.
 * @param {User | undefined} user
 * @param {string} name
 */
function temporaryHomes(user, name) {
  const owners = new Set([process.getuid?.(), user?.uid]);
  return [...temporaryParents(), MEMORY]
    .filter((parent) => fs.existsSync(parent))
    .flatMap((parent) => fs.readdirSync(parent).map((each) => path.join(parent, each)))
    .filter((home) => path.basename(home).startsWith(prefixOf(name)))
    .filter((home) => {
      const found = fs.lstatSync(home, { throwIfNoEntry: false });
      return found?.isDirectory() && owners.has(found.uid);
    });
}

/** @param {string} name */
function prefixOf(name) {
  return `nest-payment-acceptance-${name}-`;
}

function hasMuchMemory() {
  if (!fs.existsSync(MEMORY)) return false;
  const { bavail, bsize } = fs.statfsSync(MEMORY);
  return Math.min(bavail * bsize, os.freemem()) > ENOUGH_BYTES;
}

function temporaryParents() {
  return [...new Set([fs.realpathSync(os.tmpdir()), '/tmp', '/var/tmp'])].filter((folder) => {
    try {
      fs.accessSync(folder, fs.constants.W_OK);
      return true;
    } catch {
      return false;
    }
  });
}
