import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processInfo } from './process-info.mjs';

/** @import { ChildProcessByStdio } from 'node:child_process' */
/** @import { Writable } from 'node:stream' */
/** @import { User } from './folders.mjs' */

/** @typedef {ChildProcessByStdio<Writable, null, null>} Keeper */
/** @typedef {{ url: string; keeper: Keeper; ended: Promise<number> }} KeptServer a server; `ended` gives its exit code */

/** $0 of the keeper: tells it from other shells. */
const KEEPER = 'nest-payment-acceptance-keeper';
/** Without its comments, which would show in every list of processes. Passed as text: its user may not see the file. */
const script = fs.readFileSync(new URL('./keeper.sh', import.meta.url), 'utf8').replace(/^#.*\n/gm, '');

export const serverEnvironment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

/**
 * Starts a database server, whose program and arguments `command` is, under a keeper, which ends it by the signal `stop`
 * when we end, however we end; `remove` says whether its home then goes too. Gives the keeper.
 * @param {{ home: string; user: User | undefined; command: string[]; stop: string; remove?: boolean }} options
 * @returns {Keeper}
 */
export function keep({ home, user, command, stop, remove = false }) {
  const keeper = spawn(
    '/bin/sh',
    ['-c', script, KEEPER, remove ? home : '', path.join(home, 'log'), stop, ...command],
    // A session of its own: Ctrl-C in our terminal is not for it.
    { ...user, cwd: '/', env: serverEnvironment, stdio: ['pipe', 'ignore', 'ignore'], detached: true },
  );
  keeper.stdin.on('error', () => {});
  return keeper;
}

/**
 * Asks the keeper to end its server, and waits until it has, but no longer than that.
 * @param {KeptServer} server
 * @param {number} seconds
 */
export async function letEnd({ keeper, ended }, seconds) {
  keeper.stdin.end();
  await Promise.race([ended, sleep(seconds * 1000, undefined, { ref: false })]);
}

/**
 * Whether a server will end with who started it.
 * @param {import('./process-info.mjs').ProcessInfo} server
 */
export function isKept(server) {
  return processInfo(server.ppid)?.command.includes(KEEPER) ?? false;
}

/**
 * The end of what the server on this home has said.
 * @param {string} home
 */
export function lastWords(home) {
  return fs.readFileSync(path.join(home, 'log'), 'utf8').trim().split('\n').slice(-10).join('\n');
}
