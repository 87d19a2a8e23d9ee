import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startNode } from '../../scripts/lib/children.mjs';
import { messageOf } from '../../scripts/lib/errors.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { address } from '../../scripts/lib/servers.mjs';
import { SandboxControl } from './sandbox-control.mjs';
import { Supervised } from './supervised.mjs';

/** @import { ChaosDatabase } from './database.mjs' */
/** @import { Started } from '../../scripts/lib/children.mjs' */
/** @import { AnyDatabase } from './connections.mjs' */

/** Pauses between the checks of an open bill, so that a lost postback costs seconds. */
const CHECK_PAUSES_MS = '2000,4000,8000,20000';

/**
 * Everything that runs. All of it ends with the command.
 * @template {AnyDatabase} [Database=ChaosDatabase]
 * @typedef {object} World
 * @property {Database} database
 * @property {Supervised} sandbox
 * @property {SandboxControl} control
 * @property {Supervised[]} shops
 * @property {{ folder: string; file(name: string): string; of(name: string): string; keep(): string }} logs
 */

/** @typedef {{ name: string; folder?: string }} Instance of the shop, and the folder whose build it runs */

/**
 * All of it up.
 * @template {AnyDatabase} Database
 * @param {number} count of shops
 * @param {Database} database
 */
export async function startWorld(count, database) {
  const instances = Array.from({ length: count }, (_, index) => ({ name: `shop-${index + 1}` }));
  const world = await makeWorld(instances, database);
  await Promise.all([world.sandbox, ...world.shops].map((server) => server.begin()));
  return world;
}

/**
 * The same, of which only the database runs yet.
 * @template {AnyDatabase} Database
 * @param {Instance[]} instances
 * @param {Database} database
 * @returns {Promise<World<Database>>}
 */
export async function makeWorld(instances, database) {
  const folder = path.join(database.home, 'run'); // goes with it, also when we are killed
  /** @param {string} name */
  const logFile = (name) => path.join(folder, 'logs', `${name}.log`);
  /** @type {World['logs']} */
  const logs = {
    folder: path.join(folder, 'logs'),
    file: logFile,
    of: (name) => fs.readFileSync(logFile(name), 'utf8'),
    keep: () => keepLogs(folder),
  };
  fs.mkdirSync(logs.folder, { recursive: true });

  const sandboxPort = await freePort();
  const placed = [];
  for (const instance of instances) placed.push({ ...instance, port: await freePort() });

  /** @type {(name: string, args: string[], env: NodeJS.ProcessEnv, cwd?: string) => () => Started} */
  const program = (name, args, env, cwd) => () => {
    const log = fs.openSync(logFile(name), 'a');
    try {
      return startNode(name, args, { env: { ANNOUNCE: 'no', ...env }, stdio: ['ignore', log, log], cwd });
    } finally {
      fs.closeSync(log);
    }
  };
  const sandboxEnv = {
    SANDBOX_PORT: String(sandboxPort),
    SHOP_PORT: String(placed[0]?.port),
    SANDBOX_DATA: path.join(folder, 'sandbox'),
    SANDBOX_LOG: 'none',
  };
  const sandbox = new Supervised(
    'sandbox',
    program('sandbox', ['dist/apps/sandbox/main.js'], sandboxEnv),
    `${address(sandboxPort)}/sandbox`,
  );
  const shops = placed.map(({ name, folder: cwd, port }) => {
    const env = {
      SHOP_PORT: String(port),
      SANDBOX_URL: address(sandboxPort),
      DATABASE_URL: database.url,
      PAYMENT_CHECK_PAUSES_MS: CHECK_PAUSES_MS,
      SHOP_LOG_LEVELS: 'error,warn,log',
      PAYMENT_ACCEPTANCE_REQUESTS_PER_SECOND: '200',
    };
    return new Supervised(name, program(name, ['dist/apps/shop/main.js'], env, cwd), address(port));
  });
  const control = new SandboxControl(address(sandboxPort));
  return { database, sandbox, control, shops, logs };
}

/**
 * What the servers said is worth more than the folder's tidiness when something went wrong.
 * @param {string} folder
 */
function keepLogs(folder) {
  const kept = fs.mkdtempSync(path.join(os.tmpdir(), 'chaos-logs-'));
  try {
    fs.cpSync(path.join(folder, 'logs'), kept, { recursive: true });
    fs.cpSync(path.join(folder, 'sandbox'), path.join(kept, 'sandbox'), { recursive: true });
  } catch (error) {
    throw new CommandError(`The logs could not be kept: ${messageOf(error)}`);
  }
  return kept;
}
