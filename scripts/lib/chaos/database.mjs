import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from '../database-user.mjs';
import { beforeExit, CommandError, isExiting } from '../lifecycle.mjs';
import { freePort } from '../free-port.mjs';
import { makeTemporaryHome, sweepTemporaryHomes } from '../temporary-homes.mjs';
import { mariadb } from './mariadb.mjs';
import { postgres } from './postgres.mjs';
import { killAll } from './processes.mjs';

/** A throw-away server that can be crashed and comes back with its data, on the same port. */
export class ChaosDatabase {
  cuts = 0;
  isUp = true;
  #server;

  /** PostgreSQL, or MariaDB where TEST_DATABASE says so, as it does to the tests. */
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

  constructor(kind, settings) {
    this.kind = kind;
    this.settings = settings;
    this.crashes = Object.fromEntries(Object.keys(kind.crashes).map((name) => [name, 0]));
  }

  get home() {
    return this.settings.home;
  }

  get url() {
    return this.#server.url;
  }

  /**
   * Ends the server without a checkpoint, and starts it again after the pause. `immediate`: by its own quick shutdown;
   * `kill -9`: all its processes at once; `backend`: one of them.
   */
  async crash(name, downMs, random) {
    const server = this.kind.find(this.home);
    if (!server?.ready || !this.isUp) return;
    this.crashes[name] += 1;
    if (name === 'backend') return this.#killBackend(random);
    this.isUp = false;
    if (name === 'immediate') process.kill(server.pid, this.kind.immediately);
    else await killAll(server.pid);
    await this.#server.ended;
    await sleep(downMs);
    await this.#start();
    this.isUp = true;
  }

  /** Ends some of the connections to the server, or all. */
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

  /** Runs `work` with a connection of its own: `{ query(sql, parameters) }` gives the rows. */
  async query(work) {
    const client = await this.kind.connect(this.url);
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async becomesReady(seconds) {
    for (const end = Date.now() + seconds * 1000; ; await sleep(100)) {
      const answered = this.isUp && (await this.query((client) => client.query('SELECT 1')).catch(() => undefined));
      if (answered) return;
      if (Date.now() > end) throw new CommandError(`The database was not up within ${seconds} s.`);
    }
  }

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
    this.#server?.keeper.stdin.end();
    await Promise.race([this.#server?.ended, sleep(10_000, undefined, { ref: false })]);
    await this.kind.end(this.home);
  }
}
