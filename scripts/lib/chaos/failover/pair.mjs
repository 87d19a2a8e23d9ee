import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from '../../database-user.mjs';
import { freePorts } from '../../free-port.mjs';
import { beforeExit, CommandError } from '../../lifecycle.mjs';
import { makeTemporaryHome, sweepTemporaryHomes } from '../../temporary-homes.mjs';
import { killAll } from '../processes.mjs';
import { DatabaseProxy } from './proxy.mjs';

/**
 * Two throw-away servers, a primary and its standby, behind one address. To the account it is one database: `query` goes
 * to the primary of the moment, past the proxy.
 */
export class DatabasePair {
  #how;
  #settings;
  #nodes;
  #proxy;

  /** Only the primary yet: the standby comes with `rebuild`. `how`: the servers' replication, such as `postgresPair`. */
  static async start(how) {
    const user = databaseUser();
    const binaries = await how.kind.programs(user);
    await sweepTemporaryHomes(user, how.kind);
    const pair = new DatabasePair();
    pair.#how = how;
    pair.#settings = { user, binaries };
    pair.#nodes = (await freePorts(2)).map((port) => ({ home: makeTemporaryHome(user, how.kind), port }));
    for (const { home } of pair.#nodes) beforeExit(() => fs.rmSync(home, { recursive: true, force: true }));
    beforeExit(() => pair.end());
    await how.start(pair.primary, pair.#settings);
    pair.#proxy = await DatabaseProxy.start(pair.primary.port);
    return pair;
  }

  get primary() {
    return this.#nodes[0];
  }

  get standby() {
    return this.#nodes[1];
  }

  get kind() {
    return this.#how.kind;
  }

  get home() {
    return this.#nodes[0].home;
  }

  /** The address that the shops know. */
  get url() {
    const url = new URL(this.primary.server.url);
    url.port = String(this.#proxy.port);
    return url.href;
  }

  get silentSessions() {
    return this.#proxy.silentSessions;
  }

  /** Runs `work` with a connection of its own to the primary: `{ query(sql, parameters) }` gives the rows. */
  async query(work) {
    const client = await this.kind.connect(this.primary.server.url);
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async becomesReady(seconds) {
    for (const end = Date.now() + seconds * 1000; ; await sleep(100)) {
      if (await this.query((client) => client.query('SELECT 1')).catch(() => undefined)) return;
      if (Date.now() > end) throw new CommandError(`The primary did not answer within ${seconds} s.`);
    }
  }

  /** All processes of the primary at once, and with them its sessions. */
  async killPrimary() {
    await killAll(this.kind.find(this.primary.home).pid);
    await this.primary.server.ended;
  }

  /** The primary's host is gone: its processes, and whoever could say so to those connected. */
  async vanishPrimary() {
    this.#proxy.silence(this.primary.port);
    await this.killPrimary();
  }

  /** The standby becomes the primary; gives the instant. New connections go to the other one until the proxy follows. */
  async promote() {
    await this.#how.promote(this.standby);
    this.#nodes.reverse();
    return Date.now();
  }

  follow() {
    this.#proxy.follow(this.primary.port);
  }

  /** A planned change: the primary ends in order, its standby takes its place, and it comes back as a standby. */
  async switchOver() {
    this.#how.shutDown(this.primary);
    await this.primary.server.ended;
    const promotedAt = await this.promote();
    await this.#how.startAsStandby(this.primary, this.standby, this.#settings);
    return promotedAt;
  }

  cutReplication() {
    return this.#how.cutReplication(this.primary, this.standby);
  }

  /** A standby anew where there is none, and whether commits wait for it. */
  async rebuild({ synchronous }) {
    const now = new Date();
    for (const { home } of this.#nodes) fs.utimesSync(home, now, now); // in use, whoever sweeps old folders
    if (!this.kind.find(this.standby.home)) {
      this.#proxy.revive(this.standby.port);
      await this.#how.makeStandby(this.primary, this.standby, this.#settings);
    }
    await this.#how.setSynchronous(this.primary, synchronous);
  }

  /** Ends both servers, and every connection. */
  async end() {
    this.#proxy?.end();
    await Promise.all(this.#nodes.map((node) => this.#endServer(node)));
  }

  async #endServer({ home, server }) {
    server?.keeper.stdin.end();
    await Promise.race([server?.ended, sleep(10_000, undefined, { ref: false })]);
    await this.kind.end(home);
  }
}
