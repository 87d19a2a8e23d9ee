import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { UnusedConnection, type Opening } from './unused-connection.js';

/** Maximum connections to one address that are ready or being opened. */
const MAX_PER_ADDRESS = 32;

/**
 * As many connections are opened as creations needed within this time: half their lifetime, so that steady use wastes
 * none.
 */
const NEED_MS = 1_000;

/** An address of the service, together with all options that distinguish its connections. */
class Address {
  /** Oldest first. */
  readonly connections = new Set<UnusedConnection>();
  /** Whether a creation has succeeded since the last failure. */
  isWell = false;
  /** The last times at which creations needed a connection. */
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
 * Opens connections to the service before a creation needs one, so that no payer waits for the round trips of TCP and
 * TLS. Each serves a single request, its first: whatever holds for a request on a fresh connection holds here.
 *
 * - Opened: as many as creations needed within the last second, at most 32 per address; none while there are no
 *   creations, and none after a failure until a creation has succeeded. So a service gets at most twice as many
 *   connections as there are creations, and an unavailable one gets no more.
 * - Dropped: at its maximum age, and at any event on it. If one is lost, all others are dropped: they lead to the same
 *   server, which may be about to close them, too.
 *
 * Such a connection is as good as a fresh one if (assumed) neither the service nor anything in front of it closes a
 * connection that has been idle for less than `maxAgeMs`. Any other reset that crosses the request hits a fresh
 * connection just as often: only the last round trip before the request arrives matters, not how long the connection
 * has been open.
 */
export class OpenedAhead {
  private readonly addresses = new Map<string, Address>();
  private readonly addressOfUsed = new WeakMap<Socket, Address>();
  private isClosed = false;

  /**
   * @param maxAgeMs maximum age of a connection when it is used, from when its opening began, in milliseconds; 0 opens
   * none
   * @param now the clock, in milliseconds
   */
  constructor(
    private readonly maxAgeMs: number,
    private readonly now: () => number,
  ) {}

  /** How many are ready or being opened. */
  get size(): number {
    return [...this.addresses.values()].reduce((sum, { connections }) => sum + connections.size, 0);
  }

  /**
   * An unused connection for one request. A ready one is passed to the callback; otherwise a new one is returned at
   * once, and an error of opening it is thrown.
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

  /** A request on this connection has succeeded. */
  noteSuccess(socket: Socket): void {
    const address = this.addressOfUsed.get(socket);
    if (!address) return;
    address.isWell = true;
    this.fill(address);
  }

  /** A request on this connection got no answer. */
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
    // Shops come and go, with any number of addresses, so idle ones are forgotten.
    for (const [other, address] of this.addresses) if (address.isIdle(this.now())) this.addresses.delete(other);
    const address = new Address(name, opening);
    this.addresses.set(name, address);
    return address;
  }

  private used(address: Address, socket: Socket): Socket {
    this.addressOfUsed.set(socket, address);
    // Let the request that takes this connection proceed first.
    setImmediate(() => this.fill(address)).unref();
    return socket;
  }

  private async takeReady(address: Address): Promise<Socket | undefined> {
    for (;;) {
      const connection = address.firstReady();
      if (!connection) return undefined;
      connection.reserve();
      // First handle what this machine has already received on it. The current turn of the event loop may be past its
      // I/O phase, hence two turns.
      await nextTurn();
      await nextTurn();
      const age = this.now() - connection.begunAt;
      if (connection.isUntouched && age <= this.maxAgeMs) return connection.handOver();
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
      // The next creation opens its own connection and reports the error.
      return distrust(address);
    }
    const connection = new UnusedConnection(socket, upAt, this.now(), this.maxAgeMs, {
      onLost: () => distrust(address),
      onGone: (gone) => address.connections.delete(gone),
    });
    address.connections.add(connection);
  }
}

/** The ready connections may be lost as well; no more are opened until a creation has succeeded on one of its own. */
function distrust(address: Address): void {
  address.isWell = false;
  address.dropAll();
}
