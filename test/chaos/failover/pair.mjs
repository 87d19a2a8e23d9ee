import fs from 'node:fs';
import { databaseUser } from '../../../scripts/lib/database-user.mjs';
import { freePort } from '../../../scripts/lib/free-port.mjs';
import { letEnd } from '../../../scripts/lib/keeper.mjs';
import { beforeExit, CommandError } from '../../../scripts/lib/lifecycle.mjs';
import { makeTemporaryHome, sweepTemporaryHomes } from '../../../scripts/lib/temporary-homes.mjs';
import { connected, untilAnswered } from '../connections.mjs';
import { killAll } from '../processes.mjs';
import { Node } from './node.mjs';
import { DatabaseProxy } from './proxy.mjs';

/** @import { Connection, DatabaseKind, Settings } from '../connections.mjs' */

/** @typedef {Omit<Settings, 'home' | 'port'>} Common to both servers */

/**
 * What {@link DatabasePair} has to know of a server's replication.
 * @typedef {object} Replication
 * @property {DatabaseKind} kind
 * @property {(node: Node, common: Common) => Promise<void>} start
 * @property {(primary: Node, standby: Node, common: Common) => Promise<void>} makeStandby
 * @property {(primary: Node, synchronous: boolean) => Promise<void>} setSynchronous
 * @property {(primary: Node, standby: Node) => Promise<void>} cutReplication
 * @property {(standby: Node) => Promise<void>} promote
 * @property {(node: Node) => void} [shutDown] with `startAsStandby`, where a primary can step down
 * @property {(primary: Node, standby: Node, common: Common) => Promise<void>} [startAsStandby]
 */

/**
 * Two throw-away servers, a primary and its standby, behind one address. To the account it is one database: `query` goes
 * to the primary of the moment, past the proxy.
 */
export class DatabasePair {
  #how;
  #common;
  #proxy;

  /**
   * Only the primary yet: the standby comes with `rebuild`. `how`: the servers' replication, such as `postgresPair`.
   * @param {Replication} how
   */
  static async start(how) {
    const user = databaseUser();
    const common = { user, binaries: await how.kind.programs(user) };
    await sweepTemporaryHomes(user, how.kind);
    const makeNode = async () => new Node(makeTemporaryHome(user, how.kind), await freePort());
    const [primary, standby] = [await makeNode(), await makeNode()];
    for (const { home } of [primary, standby]) beforeExit(() => fs.rmSync(home, { recursive: true, force: true }));
    const pair = new DatabasePair(how, common, primary, standby, await DatabaseProxy.start(primary.port));
    beforeExit(() => pair.end());
    await how.start(primary, common);
    return pair;
  }

  /**
   * @param {Replication} how
   * @param {Common} common
   * @param {Node} primary
   * @param {Node} standby
   * @param {DatabaseProxy} proxy
   */
  constructor(how, common, primary, standby, proxy) {
    this.#how = how;
    this.#common = common;
    this.#proxy = proxy;
    this.primary = primary;
    this.standby = standby;
    /** Where this began, whichever server is there now. */
    this.home = primary.home;
  }

  get kind() {
    return this.#how.kind;
  }

  /** The address that the shops know. */
  get url() {
    const url = new URL(this.primary.url);
    url.port = String(this.#proxy.port);
    return url.href;
  }

  get silentSessions() {
    return this.#proxy.silentSessions;
  }

  /**
   * Runs `work` with a connection of its own to the primary.
   * @template T
   * @param {(client: Connection) => Promise<T>} work
   */
  query(work) {
    return connected(this.kind, this.primary.url, work);
  }

  /** @param {number} seconds */
  becomesReady(seconds) {
    return untilAnswered(this, seconds);
  }

  /** All processes of the primary at once, and with them its sessions. */
  async killPrimary() {
    const { home, server } = this.primary;
    const running = this.kind.find(home);
    if (!running) throw new CommandError('The primary does not run, and so cannot be killed.');
    await killAll(running.pid);
    await server?.ended;
  }

  /** The primary's host is gone: its processes, and whoever could say so to those connected. */
  async vanishPrimary() {
    this.#proxy.silence(this.primary.port);
    await this.killPrimary();
  }

  /** The standby becomes the primary; gives the instant. New connections go to the other one until the proxy follows. */
  async promote() {
    await this.#how.promote(this.standby);
    [this.primary, this.standby] = [this.standby, this.primary];
    return Date.now();
  }

  follow() {
    this.#proxy.follow(this.primary.port);
  }

  /** A planned change: the primary ends in order, its standby takes its place, and it comes back as a standby. */
  async switchOver() {
    const { shutDown, startAsStandby } = this.#how;
    if (!shutDown || !startAsStandby) throw new CommandError(`Of ${this.kind.name} no primary steps down.`);
    shutDown(this.primary);
    await this.primary.server?.ended;
    const promotedAt = await this.promote();
    await startAsStandby(this.primary, this.standby, this.#common);
    return promotedAt;
  }

  cutReplication() {
    return this.#how.cutReplication(this.primary, this.standby);
  }

  /**
   * A standby anew where there is none, and whether commits wait for it.
   * @param {{ synchronous: boolean }} kind
   */
  async rebuild({ synchronous }) {
    const now = new Date();
    for (const { home } of [this.primary, this.standby]) fs.utimesSync(home, now, now); // in use, whoever sweeps old folders
    if (!this.kind.find(this.standby.home)) {
      this.#proxy.revive(this.standby.port);
      await this.#how.makeStandby(this.primary, this.standby, this.#common);
    }
    await this.#how.setSynchronous(this.primary, synchronous);
  }

  /** Ends both servers, and every connection. */
  async end() {
    this.#proxy.end();
    await Promise.all([this.primary, this.standby].map((node) => this.#endServer(node)));
  }

  /** @param {Node} node */
  async #endServer({ home, server }) {
    if (server) await letEnd(server, 10);
    await this.kind.end(home);
  }
}
