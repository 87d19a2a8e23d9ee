import type { Socket } from 'node:net';

/** Whatever comes before the request says that a connection is not what it was. */
const EVENTS = ['readable', 'end', 'close', 'error', 'timeout'] as const;

/** How a connection is begun, and the event that says that it is up, TLS included. */
export interface Opening {
  readonly begin: () => Socket;
  readonly upAt: 'connect' | 'secureConnect';
}

/** Told of the end of a connection that no request has used. */
export interface UnusedConnectionEvents {
  /** The other side or the network has ended it, or it has not come up in all its life. */
  onLost(): void;
  /** It is used or dropped, for whatever reason. */
  onGone(connection: UnusedConnection): void;
}

/** A connection that no request has used. It holds neither a process nor a test that has nothing else to do. */
export class UnusedConnection {
  private state: 'opening' | 'ready' | 'promised' | 'gone' = 'opening';
  private readonly timer: NodeJS.Timeout;
  private readonly onUp = (): void => void (this.state = 'ready');
  private readonly onEvent = (): void => this.events.onLost();

  /** @param begunAt when its opening began; the other side cannot have counted any longer */
  constructor(
    private readonly socket: Socket,
    private readonly upAt: Opening['upAt'],
    readonly begunAt: number,
    maxAgeMs: number,
    private readonly events: UnusedConnectionEvents,
  ) {
    const end = (): void => (this.state === 'opening' ? events.onLost() : this.drop());
    this.timer = setTimeout(end, maxAgeMs).unref();
    socket.unref().once(upAt, this.onUp);
    for (const event of EVENTS) socket.on(event, this.onEvent);
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  /** Nobody else is given it from now on. */
  promise(): void {
    this.state = 'promised';
  }

  /** Whether it is as it was when it came up, as far as this machine has heard. */
  get isUntouched(): boolean {
    const { destroyed, readable, writable, readableLength } = this.socket;
    return this.state !== 'gone' && !destroyed && readable && writable && readableLength === 0;
  }

  /** For its one request. */
  handOver(): Socket {
    this.leave();
    return this.socket.ref();
  }

  drop(): void {
    if (this.state === 'gone') return;
    this.leave();
    this.socket.destroy();
  }

  private leave(): void {
    this.state = 'gone';
    clearTimeout(this.timer);
    this.socket.off(this.upAt, this.onUp);
    for (const event of EVENTS) this.socket.off(event, this.onEvent);
    // An error that nobody listens for would end the process.
    this.socket.on('error', () => undefined);
    this.events.onGone(this);
  }
}
