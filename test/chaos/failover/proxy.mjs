import net from 'node:net';
import { freePort, host } from '../../../scripts/lib/free-port.mjs';

/**
 * @typedef {{ client: net.Socket; port: number; server: net.Socket | undefined; silent: boolean; givenUp: boolean }} Link
 */

/**
 * The one address that the shops know, whichever server is the primary. It can do what goes wrong on the way: new
 * connections go where `follow` says, and those to a server that has vanished get nothing, not even an end.
 */
export class DatabaseProxy {
  #target;
  #server;
  /** @type {Set<number>} */
  #silent = new Set();
  /** @type {Set<Link>} */
  #links = new Set();

  /** @param {number} target the port where connections go at first */
  static async start(target) {
    const proxy = new DatabaseProxy(await freePort(), target);
    await new Promise((resolve, reject) =>
      proxy.#server.once('error', reject).listen(proxy.port, host, () => resolve(undefined)),
    );
    return proxy;
  }

  /**
   * @param {number} port
   * @param {number} target
   */
  constructor(port, target) {
    this.port = port;
    this.#target = target;
    // Half open: what a shop does to its end must not be answered where the other side is gone.
    this.#server = net.createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /**
   * Where new connections go from now on. Those that there are stay where they are.
   * @param {number} port
   */
  follow(port) {
    this.#target = port;
  }

  /**
   * From now on nothing comes from this port, nothing reaches it, and nobody is told, on old and on new connections.
   * @param {number} port
   */
  silence(port) {
    this.#silent.add(port);
    for (const link of this.#links) if (link.port === port) swallow(link);
  }

  /**
   * Another server may listen on the port now. The sessions that were silent stay so.
   * @param {number} port
   */
  revive(port) {
    this.#silent.delete(port);
  }

  /** How many sessions shops still hold that get no answer, ever. */
  get silentSessions() {
    return [...this.#links].filter(({ silent, givenUp }) => silent && !givenUp).length;
  }

  end() {
    this.#server.close();
    for (const { client } of this.#links) client.destroy();
  }

  /** @param {net.Socket} client */
  #accept(client) {
    /** @type {Link} */
    const link = { client, port: this.#target, server: undefined, silent: false, givenUp: false };
    this.#links.add(link);
    client.on('error', () => undefined); // 'close' follows
    client.on('end', () => (link.givenUp = true));
    client.on('close', () => {
      this.#links.delete(link);
      link.server?.destroy();
    });
    if (this.#silent.has(link.port)) swallow(link);
    else connect(link);
  }
}

/** @param {Link} link */
function connect(link) {
  const { client, port } = link;
  const server = net.connect({ port, host, allowHalfOpen: true });
  link.server = server;
  server.on('error', () => undefined); // 'close' follows
  server.on('close', () => !link.silent && client.destroy());
  client.pipe(server);
  server.pipe(client);
}

/**
 * Reads and forgets: the sender is acknowledged, as by a machine between, and hears no more.
 * @param {Link} link
 */
function swallow(link) {
  const { client, server } = link;
  link.silent = true;
  client.unpipe(server);
  client.resume();
  server?.unpipe(client);
  server?.destroy();
}
