import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.mjs';
import { isKept, keep, serverEnvironment } from './keeper.mjs';
import { CommandError } from './lifecycle.mjs';
import { freePort, host } from './free-port.mjs';
import { processInfo } from './process-info.mjs';

/** @import { User } from './folders.mjs' */
/** @import { Keeper, KeptServer } from './keeper.mjs' */
/** @import { PostgresBinaries } from './postgres-binaries.mjs' */

/** @typedef {{ inMemory?: boolean; initdb: string[]; server: string[]; stop: string }} PostgresMode */
/** @typedef {{ home: string; user: User | undefined; binaries: PostgresBinaries; mode: PostgresMode }} Settings */

/**
 * How a server treats its data. A temporary one forgets it: no flushing, and an end without a checkpoint. A measured one
 * flushes as a lasting one does, and is forgotten, too.
 * @satisfies {Record<string, PostgresMode>}
 */
export const modes = {
  lasting: { initdb: [], server: [], stop: 'INT' },
  measured: { initdb: [], server: [], stop: 'QUIT' },
  temporary: {
    inMemory: true,
    initdb: ['--no-sync'],
    server: ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'],
    stop: 'QUIT',
  },
};

/**
 * Starts a server on `home`/data, making that first where it is missing. No other process may do the same meanwhile.
 * It ends with us, however we end; `remove` says whether its home then goes too. `port`: any free one, unless given.
 * @param {Settings & { remove?: boolean; port?: number }} settings
 * @returns {Promise<KeptServer>}
 */
export async function startServer({ home, user, binaries, mode, remove = false, port: wanted }) {
  const data = path.join(home, 'data');
  if (!fs.existsSync(data)) await initialise({ home, user, binaries, mode });
  refuseOtherVersion(data, binaries);
  if (findServer(home)) throw new CommandError(`A PostgreSQL server is running on ${data} already.`);
  // What wrote it is gone, but its process id may be in use again, and then the server would refuse to start.
  fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });

  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    const keeper = keep({ home, user, command: commandOf(data, binaries, mode, port), stop: mode.stop, remove });
    const ended = once(keeper, 'exit').then(([code]) => code ?? 1);
    if (await becomesReady(data, keeper)) return { url: urlOf(home, port), keeper, ended };
    const log = read(path.join(home, 'log'));
    if (attempt === 3 || !/address already in use/i.test(log)) {
      throw new CommandError(`PostgreSQL did not start (${home}):\n${log.trim().split('\n').slice(-10).join('\n')}`);
    }
  }
}

/**
 * The server that runs on `home`, if one does. `kept`: it will end with who started it.
 * @param {string} home
 */
export function findServer(home) {
  const [pidLine, folder, , port, , , , state] = read(path.join(home, 'data/postmaster.pid')).split('\n');
  const pid = Number(pidLine);
  const server = processInfo(pid);
  if (!server?.command.includes('postgres') || !server.command.includes(`-D ${folder}`)) return undefined;
  return { pid, url: urlOf(home, Number(port)), ready: state?.trim() === 'ready', kept: isKept(server) };
}

/**
 * Stops a server whose keeper is gone, more firmly with time.
 * @param {string} home
 */
export async function endServer(home) {
  for (const [signal, seconds] of Object.entries({ SIGINT: 10, SIGQUIT: 5, SIGKILL: 5 })) {
    const server = findServer(home);
    if (!server) return;
    try {
      process.kill(server.pid, signal);
    } catch (error) {
      if (codeOf(error) !== 'ESRCH') throw error;
    }
    for (let waited = 0; waited < seconds * 20 && findServer(home); waited++) await sleep(50);
  }
}

/**
 * Makes the data folder aside and renames it when complete: one that is there is whole, even if we were killed.
 * @param {Settings} settings
 */
async function initialise({ home, user, binaries, mode }) {
  const password = path.join(home, 'password');
  const making = path.join(home, 'data.partial');
  fs.rmSync(making, { recursive: true, force: true });
  fs.rmSync(password, { force: true });
  fs.writeFileSync(password, `${randomBytes(16).toString('hex')}\n`, { mode: 0o600 });
  if (user) fs.chownSync(password, user.uid, user.gid);

  const access = ['-U', 'postgres', '-A', 'password', `--pwfile=${password}`];
  const args = ['-D', making, ...access, '-E', 'UTF8', '--no-locale', ...mode.initdb];
  const child = spawn(path.join(binaries.bin, 'initdb'), args, {
    ...user,
    cwd: home,
    env: serverEnvironment,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new CommandError(`initdb failed in ${home}:\n${errors.trim()}`);
  fs.renameSync(making, path.join(home, 'data'));
}

/**
 * @param {string} data
 * @param {PostgresBinaries} binaries
 */
function refuseOtherVersion(data, { major }) {
  const made = Number(read(path.join(data, 'PG_VERSION')));
  if (made === major) return;
  throw new CommandError(
    `The data in ${data} is PostgreSQL ${made}'s, and only PostgreSQL ${major} is here. ` +
      'Install that version, set DATABASE_URL, or remove the folder to begin anew.',
  );
}

/**
 * @param {string} data
 * @param {PostgresBinaries} binaries
 * @param {PostgresMode} mode
 * @param {number} port
 */
function commandOf(data, binaries, mode, port) {
  const settings = [`listen_addresses=${host}`, 'unix_socket_directories=', 'max_connections=200'];
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting]), ...mode.server];
  return [path.join(binaries.bin, 'postgres'), ...args];
}

/**
 * The server notes in postmaster.pid how far it is (so does pg_ctl learn it).
 * @param {string} data
 * @param {Keeper} keeper
 */
async function becomesReady(data, keeper) {
  const home = path.dirname(data);
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(20)) {
    if (keeper.exitCode !== null || keeper.signalCode !== null) return false;
    const server = findServer(home);
    if (server?.ready && processInfo(server.pid)?.ppid === keeper.pid) return true;
  }
  keeper.stdin.end();
  return false;
}

/**
 * @param {string} home
 * @param {number} port
 */
function urlOf(home, port) {
  return `postgres://postgres:${read(path.join(home, 'password')).trim()}@${host}:${port}/postgres`;
}

/** @param {string} file */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}
