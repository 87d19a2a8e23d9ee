import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from '../../scripts/lib/database-user.mjs';
import { beforeExit, CommandError, isExiting } from '../../scripts/lib/lifecycle.mjs';
import { freePort } from '../../scripts/lib/free-port.mjs';
import { letEnd } from '../../scripts/lib/keeper.mjs';
import { makeTemporaryHome, sweepTemporaryHomes } from '../../scripts/lib/temporary-homes.mjs';
import { connected, untilAnswered } from './connections.mjs';
import { mariadb } from './mariadb.mjs';
import { postgres } from './postgres.mjs';
import { killAll } from './processes.mjs';

/** @import { KeptServer } from '../../scripts/lib/keeper.mjs' */
/** @import { Connection, DatabaseKind, Settings } from './connections.mjs' */
/** @import { SeededRandom } from './random.mjs' */

/** A throw-away server that can be crashed and comes back with its data, on the same port. */
export class ChaosDatabase {
  cuts = 0;
  isUp = true;
  /** @type {KeptServer | undefined} */
  #server;

  /**
   * PostgreSQL, or MariaDB where TEST_DATABASE says so, as it does to the tests.
   * @param {DatabaseKind} kind
   */
  static async start(kind = process.env.TEST_DATABASE === 'mariadb' ? mariadb : postgres) {
    const user = databaseUser();
    const binaries = await kind.programs(user);
    await sweepTemporaryHomes(user, kind);
    const home = makeTemporaryHome(user, kind);
    beforeExit(() => fs.rmSync(home, { recursive: true, force: true }));
    const database = new ChaosDatabase(kind, { home, user, binaries, port: await freePort() });
    beforeExit(() => database.#stop());
    await database.#start();
    return database;
  }

  /**
   * @param {DatabaseKind} kind
   * @param {Settings} settings
   */
  constructor(kind, settings) {
    this.kind = kind;
    this.settings = settings;
    /** @type {Record<string, number>} */
    this.crashes = Object.fromEntries(Object.keys(kind.crashes).map((name) => [name, 0]));
  }

  get home() {
    return this.settings.home;
  }

  get url() {
    if (!this.#server) throw new CommandError('The database has not been started.');
    return this.#server.url;
  }

  /**
   * Ends the server without a checkpoint, and starts it again after the pause. `immediate`: by its own quick shutdown;
   * `kill -9`: all its processes at once; `backend`: one of them.
   * @param {string} name
   * @param {number} downMs
   * @param {SeededRandom} random
   */
  async crash(name, downMs, random) {
    const server = this.kind.find(this.home);
    if (!server?.ready || !this.isUp) return;
    this.crashes[name] = (this.crashes[name] ?? 0) + 1;
    if (name === 'backend') return this.#killBackend(random);
    this.isUp = false;
    if (name === 'immediate') process.kill(server.pid, this.kind.immediately);
    else await killAll(server.pid);
    await this.#server?.ended;
    await sleep(downMs);
    await this.#start();
    this.isUp = true;
  }

  /**
   * Ends some of the connections to the server, or all.
   * @param {SeededRandom} random
   */
  async cut(random) {
    await this.query(async (client) => {
      const share = random.pick([0.2, 0.5, 1]);
      const cut = (await client.query(this.kind.connections)).filter(() => random.chance(share));
      if (cut.length === 0) return;
      const ids = cut.map(({ id }) => id);
      await this.kind.cut(client, ids);
      this.cuts += cut.length;
    }).catch(() => undefined); // the server is down, or has just lost this connection too
  }

  /**
   * Runs `work` with a connection of its own.
   * @template T
   * @param {(client: Connection) => Promise<T>} work
   */
  query(work) {
    return connected(this.kind, this.url, work);
  }

  /** @param {number} seconds */
  becomesReady(seconds) {
    return untilAnswered(this, seconds);
  }

  /** @param {SeededRandom} random */
  async #killBackend(random) {
    await this.query(async (client) => {
      const all = await client.query(this.kind.connections);
      if (all.length > 0) process.kill(random.pick(all).id, 'SIGKILL');
    }).catch(() => undefined);
  }

  /** Another program may have the port for a moment, as the near end of a connection. */
  async #start() {
    const now = new Date();
    fs.utimesSync(this.home, now, now); // in use, whoever sweeps old folders
    for (let tries = 20; !isExiting(); tries--) {
      try {
        this.#server = await this.kind.start(this.settings);
        return;
      } catch (error) {
        if (tries === 0) throw error;
        await sleep(500);
      }
    }
  }

  async #stop() {
    if (this.#server) await letEnd(this.#server, 10);
    await this.kind.end(this.home);
  }
}
