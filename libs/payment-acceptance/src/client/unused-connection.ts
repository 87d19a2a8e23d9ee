import type { Socket } from 'node:net';

/** Any of these before the request means that the connection can no longer be trusted. */
const EVENTS = ['readable', 'end', 'close', 'error', 'timeout'] as const;

/** How to open a connection, and the event that says that it is up, including TLS. */
export interface Opening {
  readonly begin: () => Socket;
  readonly upAt: 'connect' | 'secureConnect';
}

/** Called when an unused connection ends. */
export interface UnusedConnectionEvents {
  /** The other side or the network ended it, or it did not come up within its lifetime. */
  onLost(): void;
  /** It was used or dropped, for any reason. */
  onGone(connection: UnusedConnection): void;
}

/** A connection that no request has used. It does not keep the process alive. */
export class UnusedConnection {
  private state: 'opening' | 'ready' | 'reserved' | 'gone' = 'opening';
  private readonly timer: NodeJS.Timeout;
  private readonly onUp = (): void => void (this.state = 'ready');
  private readonly onEvent = (): void => this.events.onLost();

  /** @param begunAt when its opening began; the other side cannot have seen it any earlier */
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

  /** Reserves it for one request. */
  reserve(): void {
    this.state = 'reserved';
  }

  /** Whether nothing has happened on it since it came up, as far as this machine knows. */
  get isUntouched(): boolean {
    const { destroyed, readable, writable, readableLength } = this.socket;
    return this.state !== 'gone' && !destroyed && readable && writable && readableLength === 0;
  }

  /** Hands the socket over to its one request. */
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
    // An unhandled error event would end the process.
    this.socket.on('error', () => undefined);
    this.events.onGone(this);
  }
}
