import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Pause before a connection is used again. A server that closes the connection after its answer without announcing that
 * has done so by the end of the pause (assumed).
 */
const CLOSE_GRACE_MS = 100;

/** Nobody closes a connection that has been silent for less than this (assumed: limits are 5 seconds or more). */
const MAX_IDLE_MS = 1_000;

/** State of a connection when its last answer was complete. */
interface IdleState {
  readonly since: number;
  readonly bytesRead: number;
}

/**
 * Keeps the connections of creations for later ones, so that few payers wait for the round trips of TCP and TLS. Node's
 * own agent also does this, but gives a connection to the next request at once, however old it is, without checking
 * what has happened on it: if the server closes it meanwhile, the outcome of that creation is unknown.
 */
export class CreationAgents {
  readonly http: http.Agent;
  readonly https: https.Agent;
  private readonly idle = new WeakMap<Socket, IdleState>();

  /** @param now a monotonic clock, in milliseconds */
  constructor(private readonly now: () => number) {
    // The agent uses the oldest kept connections first, and skips those that are destroyed.
    const options = { keepAlive: true, timeout: MAX_IDLE_MS - CLOSE_GRACE_MS, scheduling: 'fifo' as const };
    this.http = this.delayReuse(new http.Agent(options));
    this.https = this.delayReuse(new https.Agent(options));
  }

  /**
   * Called before a creation: drops the kept connections that are too old, or no longer as their last answers left
   * them. Two turns of the event loop let it handle what has arrived; the current turn may be past its I/O phase.
   */
  async destroyStale(): Promise<void> {
    if (this.freeSockets().length === 0) return;
    await nextTurn();
    await nextTurn();
    for (const socket of this.freeSockets()) if (!this.isUntouched(socket)) socket.destroy();
  }

  close(): void {
    this.http.destroy();
    this.https.destroy();
  }

  private freeSockets(): Socket[] {
    return [this.http, this.https].flatMap((agent) =>
      Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []),
    );
  }

  private isUntouched(socket: Socket): boolean {
    const idle = this.idle.get(socket);
    return idle !== undefined && socket.bytesRead === idle.bytesRead && this.now() - idle.since <= MAX_IDLE_MS;
  }

  /** Lets the agent take a connection back only after a pause. */
  private delayReuse<A extends http.Agent>(agent: A): A {
    const [takeBack] = agent.listeners('free') as [(socket: Socket, options: object) => void];
    agent.off('free', takeBack).on('free', (socket: Socket, options: object) => {
      this.idle.set(socket, { since: this.now(), bytesRead: socket.bytesRead });
      // Otherwise the agent, or the request that uses the connection, handles its errors; during the pause nobody does.
      const ignore = (): void => undefined;
      socket.unref().on('error', ignore);
      setTimeout(() => {
        socket.off('error', ignore);
        takeBack.call(agent, socket, options);
      }, CLOSE_GRACE_MS).unref();
    });
    return agent;
  }
}
