import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isKept, keep, lastWords, serverEnvironment } from './keeper.mjs';
import { CommandError } from './lifecycle.mjs';
import { host } from './free-port.mjs';
import { processInfo } from './process-info.mjs';

/** @import { User } from './folders.mjs' */

/** @typedef {{ server: string; install: string }} MariaDbBinaries the programs that run and make a server */
/** @typedef {{ home: string; user: User | undefined; binaries: MariaDbBinaries; password?: string }} Settings */

/*
 * A MariaDB server of our own, of the system's programs: npm has none. Thrown away afterwards, but what is committed is
 * as safe meanwhile as on a server in use. Asked to end, it does so at once and leaves the rest to its next start.
 */

const SETTINGS = [
  `--bind-address=${host}`,
  '--skip-name-resolve',
  '--max-connections=200',
  '--innodb-flush-log-at-trx-commit=1',
  '--innodb-fast-shutdown=2',
  '--character-set-server=utf8mb4',
  '--performance-schema=off',
];

/**
 * The programs that make and run a server, where `user` can run them.
 * @param {User} [user]
 * @returns {MariaDbBinaries}
 */
export function findMariaDb(user) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/libexec'];
  /** @param {string[]} names */
  const find = (names) =>
    folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find((file) => fs.existsSync(file));
  const server = find(['mariadbd', 'mysqld']);
  const install = find(['mariadb-install-db', 'mysql_install_db']);
  const isMariaDb = (/** @type {string} */ program) =>
    spawnSync(program, ['--no-defaults', '--version'], { ...user, cwd: '/', encoding: 'utf8' }).stdout?.includes(
      'MariaDB',
    );
  if (server && install && isMariaDb(server)) return { server, install };
  throw new CommandError(
    'No MariaDB server that can be started here: there must be mariadbd and mariadb-install-db. ' +
      "Install the system's (Debian: apt-get install mariadb-server; macOS: brew install mariadb).",
  );
}

/**
 * Starts the server on `home`/data, making that first where it is missing, and with it the account's `password`: any, unless
 * given. `args`: what else its command line says. It ends with us, however we end.
 * @param {Settings & { port: number; args?: string[] }} settings
 * @returns {Promise<import('./keeper.mjs').KeptServer>}
 */
export async function startMariaDb({ home, user, binaries, port, args = [], password }) {
  if (!fs.existsSync(path.join(home, 'data'))) initialise({ home, user, binaries, password });
  const files = { datadir: 'data', socket: 'socket', 'pid-file': 'pid', tmpdir: '.', 'init-file': 'init.sql' };
  const own = Object.entries(files).map(([name, file]) => `--${name}=${path.join(home, file)}`);
  // The first of all arguments, or the server refuses it.
  const command = [binaries.server, '--no-defaults', ...own, `--port=${port}`, ...SETTINGS, ...args];
  const keeper = keep({ home, user, command, stop: 'KILL' });
  const ended = once(keeper, 'exit').then(([code]) => code ?? 1);
  for (const end = Date.now() + 60_000; keeper.exitCode === null && Date.now() < end; await sleep(20)) {
    const server = findMariaDbServer(home);
    if (server?.ready && processInfo(server.pid)?.ppid === keeper.pid) return { url: urlOf(home, port), keeper, ended };
  }
  keeper.stdin.end();
  throw new CommandError(`MariaDB did not start (${home}):\n${lastWords(home)}`);
}

/**
 * The server that runs on `home`, if one does. It notes its process id before it is ready, and one
 * that is asked to end in between hangs; its log, which begins anew with it, says when it is.
 * @param {string} home
 */
export function findMariaDbServer(home) {
  const file = path.join(home, 'pid');
  const pid = fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8')) : 0;
  const server = processInfo(pid);
  if (!server?.command.includes(`--datadir=${path.join(home, 'data')}`)) return undefined;
  const ready = fs.readFileSync(path.join(home, 'log'), 'utf8').includes('ready for connections');
  return { pid, ready, kept: isKept(server) };
}

/**
 * Ends a server whose keeper is gone.
 * @param {string} home
 */
export async function endMariaDb(home) {
  const server = findMariaDbServer(home);
  if (!server) return;
  process.kill(server.pid, 'SIGKILL');
  while (findMariaDbServer(home)) await sleep(20);
}

/**
 * Makes the data folder aside and renames it when complete, and an account that may see and end other connections.
 * @param {Settings} settings
 */
function initialise({ home, user, binaries, password = randomBytes(16).toString('hex') }) {
  const making = path.join(home, 'data.partial');
  const { status, stdout, stderr } = spawnSync(
    binaries.install,
    [
      '--no-defaults',
      `--datadir=${making}`,
      `--tmpdir=${home}`,
      '--auth-root-authentication-method=socket',
      '--skip-test-db',
    ],
    { ...user, cwd: home, env: serverEnvironment, encoding: 'utf8' },
  );
  if (status !== 0) throw new CommandError(`${binaries.install} failed in ${home}:\n${stdout}${stderr}`.trim());
  const files = {
    password,
    // Each server does so for itself, whatever it replicates.
    'init.sql': `SET SESSION sql_log_bin = 0;
CREATE DATABASE IF NOT EXISTS shop;
CREATE USER IF NOT EXISTS shop@'${host}' IDENTIFIED BY '${password}';
GRANT ALL ON *.* TO shop@'${host}';\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(home, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    if (user) fs.chownSync(file, user.uid, user.gid);
  }
  fs.renameSync(making, path.join(home, 'data'));
}

/**
 * @param {string} home
 * @param {number} port
 */
function urlOf(home, port) {
  return `mariadb://shop:${fs.readFileSync(path.join(home, 'password'), 'utf8')}@${host}:${port}/shop`;
}
