import { CommandError } from '../../../scripts/lib/lifecycle.mjs';

/** @import { KeptServer } from '../../../scripts/lib/keeper.mjs' */

/** One of two servers: its home, its port, and what runs there. */
export class Node {
  /** @type {KeptServer | undefined} */
  server;

  /**
   * @param {string} home
   * @param {number} port
   */
  constructor(home, port) {
    this.home = home;
    this.port = port;
  }

  get url() {
    if (!this.server) throw new CommandError(`No server was started on ${this.home}.`);
    return this.server.url;
  }
}
