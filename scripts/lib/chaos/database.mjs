import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from '../database-user.mjs';
import { beforeExit, CommandError, isExiting } from '../lifecycle.mjs';
import { freePort } from '../ports.mjs';
import { findPostgres } from '../postgres-binaries.mjs';
import { makeTemporaryHome } from '../postgres-homes.mjs';
import { endServer, findServer, startServer } from '../postgres-server.mjs';
import { processInfo } from '../process-info.mjs';
import { descendantsOf } from './processes.mjs';

/**
 * What was committed outlives a kill of every process, though not a loss of power: what a killed process has written is
 * the kernel's. Half-written pages are possible, so full_page_writes stays on.
 */
const mode = {
  initdb: ['--no-sync'],
  server: ['-c', 'fsync=off', '-c', 'synchronous_commit=on', '-c', 'full_page_writes=on'],
  stop: 'QUIT',
};

/** A throw-away PostgreSQL that can be crashed and comes back with its data, on the same port. */
export class ChaosDatabase {
  crashes = { immediate: 0, 'kill -9': 0, backend: 0 };
  cuts = 0;
  isUp = true;
  #server;

  static async start() {
    const user = databaseUser();
    const binaries = await findPostgres(user);
    const home = makeTemporaryHome(user);
    beforeExit(() => fs.rmSync(home, { recursive: true, force: true }));
    const database = new ChaosDatabase({ home, user, binaries, mode, port: await freePort() });
    beforeExit(() => database.#stop());
    await database.#start();
    return database;
  }

  constructor(settings) {
    this.settings = settings;
  }

  get home() {
    return this.settings.home;
  }

  get url() {
    return this.#server.url;
  }

  /**
   * Ends the server without a checkpoint, and starts it again after the pause. `immediate`: its own immediate shutdown;
   * `kill -9`: all its processes at once; `backend`: one process, upon which it restarts by itself.
   */
  async crash(kind, downMs, random) {
    const server = findServer(this.home);
    if (!server?.ready || !this.isUp) return;
    this.crashes[kind] += 1;
    if (kind === 'backend') return this.#killBackend(random);
    this.isUp = false;
    if (kind === 'immediate') process.kill(server.pid, 'SIGQUIT');
    else await killAll(server.pid);
    await this.#server.ended;
    await sleep(downMs);
    await this.#start();
    this.isUp = true;
  }

  /** Ends some of the connections to the server, or all. */
  async cut(random) {
    await this.query(async (client) => {
      const { rows } = await client.query(backends);
      const share = random.pick([0.2, 0.5, 1]);
      const cut = rows.filter(() => random.chance(share));
      if (cut.length === 0) return;
      await client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [cut.map(({ pid }) => pid)]);
      this.cuts += cut.length;
    }).catch(() => undefined); // the server is down, or has just lost this connection too
  }

  /** Runs `work` with a connection of its own. */
  async query(work) {
    const { default: pg } = await import('pg'); // installed by the command, if need be
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined); // the query that it hits fails too
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
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
      const { rows } = await client.query(backends);
      if (rows.length > 0) process.kill(random.pick(rows).pid, 'SIGKILL');
    }).catch(() => undefined);
  }

  /** Another program may have the port for a moment, as the near end of a connection. */
  async #start() {
    const now = new Date();
    fs.utimesSync(this.home, now, now); // in use, whoever sweeps old folders
    for (let tries = 20; !isExiting(); tries--) {
      try {
        this.#server = await startServer(this.settings);
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
    await endServer(this.home);
  }
}

const backends = `SELECT pid FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY backend_start, pid`;

/** Stopped first, so that it starts no process that the list lacks. Resolves when none is left: only then is its data free. */
async function killAll(pid) {
  process.kill(pid, 'SIGSTOP');
  const all = [...descendantsOf(pid), pid];
  for (const each of all) {
    try {
      process.kill(each, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
  while (all.some((each) => processInfo(each)?.command.includes('postgres'))) await sleep(10);
}
