import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { UnusedConnection, type Opening } from './unused-connection.js';

/** Most connections to one address that stand ready or are being opened. */
const MAX_PER_ADDRESS = 32;

/** As many are opened as creations needed within this time: half of their life, so that a steady use leaves none over. */
const NEED_MS = 1_000;

/** An address of the service, with everything else that makes a connection to it another one. */
class Address {
  /** Oldest first. */
  readonly connections = new Set<UnusedConnection>();
  /** Whether a creation has succeeded since the last failure. */
  isWell = false;
  /** When creations needed a connection, the last ones. */
  private readonly needs: number[] = [];

  constructor(
    readonly name: string,
    readonly opening: Opening,
  ) {}

  need(now: number): void {
    this.needs.push(now);
    if (this.needs.length > MAX_PER_ADDRESS) this.needs.shift();
  }

  neededLately(now: number): number {
    return this.needs.filter((at) => at > now - NEED_MS && at <= now).length;
  }

  isIdle(now: number): boolean {
    return this.connections.size === 0 && this.neededLately(now) === 0;
  }

  firstReady(): UnusedConnection | undefined {
    for (const connection of this.connections) if (connection.isReady) return connection;
    return undefined;
  }

  dropAll(): void {
    for (const connection of [...this.connections]) connection.drop();
  }
}

/**
 * Connections to the service that are opened before a creation needs one, so that no payer waits for the round trips of TCP
 * and TLS. Each serves one request, the first that it ever carries: what is known of a request on a fresh connection is
 * known on such a one.
 *
 * - Opened: as many as creations needed within the last second, at most 32 for an address; none while there are no
 *   creations, and none after a failure until one has succeeded. So a service gets at most twice as many connections as
 *   there are creations, and one that is away gets none more.
 * - Dropped: at its age, and at any event on it. With one that is lost all others go: they lead to one server, which may
 *   be about to close them too.
 *
 * What makes it as good as a fresh one (assumed): neither the service nor anything before it closes a connection because it
 * has been silent for less than `maxAgeMs`. A reset for any other reason that crosses the request on its way meets a fresh
 * connection as often: what counts is the last round trip before the request arrives, however long it has been open.
 */
export class OpenedAhead {
  private readonly addresses = new Map<string, Address>();
  private readonly addressOfUsed = new WeakMap<Socket, Address>();
  private isClosed = false;

  /**
   * @param maxAgeMs how old one may be when it is used, counted from when its opening began, in milliseconds; 0: none is opened
   * @param now milliseconds of the clock
   */
  constructor(
    private readonly maxAgeMs: number,
    private readonly now: () => number,
  ) {}

  /** How many stand ready or are being opened. */
  get size(): number {
    return [...this.addresses.values()].reduce((sum, { connections }) => sum + connections.size, 0);
  }

  /**
   * A connection that was never used, for one request: one that stands ready, through the callback; or else a new one, at
   * once, and as its opening throws.
   */
  connect(name: string, opening: Opening, use: (error: Error | null, socket: Duplex) => void): Socket | undefined {
    const address = this.address(name, opening);
    address.need(this.now());
    if (!address.firstReady()) return this.used(address, opening.begin());
    this.takeReady(address)
      .then((ready) => this.used(address, ready ?? opening.begin()))
      .then(
        (socket) => use(null, socket),
        (error: unknown) => use(error as Error, undefined as never),
      );
    return undefined;
  }

  /** A request that was sent on this connection has succeeded. */
  noteSuccess(socket: Socket): void {
    const address = this.addressOfUsed.get(socket);
    if (!address) return;
    address.isWell = true;
    this.fill(address);
  }

  /** A request has had no answer on this connection. */
  noteFailure(socket: Socket): void {
    const address = this.addressOfUsed.get(socket);
    if (address) distrust(address);
  }

  close(): void {
    this.isClosed = true;
    for (const address of this.addresses.values()) address.dropAll();
  }

  private address(name: string, opening: Opening): Address {
    const known = this.addresses.get(name);
    if (known) return known;
    // Shops may have any number of addresses, and come and go.
    for (const [other, address] of this.addresses) if (address.isIdle(this.now())) this.addresses.delete(other);
    const address = new Address(name, opening);
    this.addresses.set(name, address);
    return address;
  }

  private used(address: Address, socket: Socket): Socket {
    this.addressOfUsed.set(socket, address);
    // After what the request itself does at this moment.
    setImmediate(() => this.fill(address)).unref();
    return socket;
  }

  private async takeReady(address: Address): Promise<Socket | undefined> {
    for (;;) {
      const connection = address.firstReady();
      if (!connection) return undefined;
      connection.promise();
      // What this machine has received about it is heard first. The turn of the event loop that is under way may be past that.
      await nextTurn();
      await nextTurn();
      const age = this.now() - connection.begunAt;
      if (connection.isUntouched && age >= 0 && age <= this.maxAgeMs) return connection.handOver();
      connection.drop();
    }
  }

  private fill(address: Address): void {
    if (this.maxAgeMs === 0 || this.addresses.get(address.name) !== address) return;
    const wanted = address.neededLately(this.now());
    while (!this.isClosed && address.isWell && address.connections.size < wanted) this.openOne(address);
  }

  private openOne(address: Address): void {
    const { begin, upAt } = address.opening;
    let socket: Socket;
    try {
      socket = begin();
    } catch {
      // The creation that opens its own says what is wrong.
      return distrust(address);
    }
    const connection = new UnusedConnection(socket, upAt, this.now(), this.maxAgeMs, {
      onLost: () => distrust(address),
      onGone: (gone) => address.connections.delete(gone),
    });
    address.connections.add(connection);
  }
}

/** Whatever stands ready may be lost as well; nothing is opened until a creation has succeeded on a connection of its own. */
function distrust(address: Address): void {
  address.isWell = false;
  address.dropAll();
}
