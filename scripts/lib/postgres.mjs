import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from './database-user.mjs';
import { letEnd } from './keeper.mjs';
import { beforeExit } from './lifecycle.mjs';
import { withLock } from './lock.mjs';
import { findPostgres } from './postgres-binaries.mjs';
import { findLastingHome, makeLastingHome } from './postgres-homes.mjs';
import { endServer, findServer, modes, startServer } from './postgres-server.mjs';
import { dataFolder } from './project.mjs';
import { makeTemporaryHome, sweepTemporaryHomes } from './temporary-homes.mjs';

/** @import { KeptServer } from './keeper.mjs' */
/** @import { PostgresMode } from './postgres-server.mjs' */

/*
 * A real PostgreSQL without any set-up: real programs out of an npm package (or the system's), a folder, a free port.
 */

/**
 * @typedef {{ url: string; stop(): Promise<void>; ended: Promise<number>; log: string; shared?: boolean }} RunningPostgres
 *   `ended` resolves when the server has ended, asked or not; `log` is the file of what it says
 */

const temporary = { name: 'postgres', find: findServer, end: endServer };

/**
 * A server for one run. Its data disappears with it; in mode `measured` it is as safe, and as slow, as a real one.
 * @param {PostgresMode} [mode]
 */
export async function startTemporaryPostgres(mode = modes.temporary) {
  const user = databaseUser();
  const binaries = await findPostgres(user);
  await sweepTemporaryHomes(user, temporary);
  const home = makeTemporaryHome(user, temporary, mode);
  beforeExit(() => fs.rmSync(home, { recursive: true, force: true }));
  return stoppable(home, await startServer({ home, user, binaries, mode, remove: true }));
}

/**
 * The project's lasting server: started, or shared (`shared: true`) with another command that has started it.
 * @returns {Promise<RunningPostgres>}
 */
export async function startLastingPostgres() {
  return withLock(path.join(dataFolder, 'postgres.lock'), async () => {
    const home = findLastingHome() ?? makeLastingHome();
    const user = databaseUser(home);
    for (let server = findServer(home); server; server = findServer(home)) {
      if (server.kept && server.ready)
        return { url: server.url, shared: true, stop: async () => {}, ended: new Promise(() => {}), log: logOf(home) };
      // Without its keeper nobody would ever stop it. With one it is stopping now.
      if (server.kept) await sleep(50);
      else await endServer(home);
    }
    const binaries = await findPostgres(user);
    return stoppable(home, await startServer({ home, user, binaries, mode: modes.lasting }));
  });
}

/**
 * @param {string} home
 * @param {KeptServer} server
 * @returns {RunningPostgres}
 */
function stoppable(home, server) {
  const { url, ended } = server;
  const stop = async () => {
    await letEnd(server, 20);
    await endServer(home);
  };
  beforeExit(stop);
  return { url, ended, stop, log: logOf(home) };
}

/** @param {string} home */
const logOf = (home) => path.join(home, 'log');
