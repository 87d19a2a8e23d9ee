import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { beforeExit } from '../../scripts/lib/lifecycle.mjs';

/** @typedef {{ pid: number | undefined; port: number; logBytes(): number }} Redis */

/** Whether the machine has Redis. */
export const hasRedis = () => spawnSync('redis-server', ['--version']).status === 0;

/**
 * A Redis of our own that flushes each command to the disk before it answers, as a queue of payments needs it.
 * @returns {Promise<Redis>}
 */
export async function startRedis() {
  const port = await freePort();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-redis-'));
  const settings = {
    ...{ port, bind: '127.0.0.1', dir: folder, save: '', loglevel: 'warning' },
    ...{ appendonly: 'yes', appendfsync: 'always', 'auto-aof-rewrite-percentage': 0 },
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawn('redis-server', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  beforeExit(() => {
    server.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  });
  while (!(await isListening(port))) await sleep(50);
  return { pid: server.pid, port, logBytes: () => bytesIn(path.join(folder, 'appendonlydir')) };
}

/** @param {string} folder */
const bytesIn = (folder) =>
  fs.readdirSync(folder).reduce((sum, file) => sum + fs.statSync(path.join(folder, file)).size, 0);

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isListening(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const end = (/** @type {boolean} */ is) => () => resolve((socket.destroy(), is));
    socket.once('connect', end(true)).once('error', end(false));
  });
}
