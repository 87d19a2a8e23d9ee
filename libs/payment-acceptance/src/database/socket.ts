export interface Stream {
  readonly closed: boolean;
  readonly destroyed: boolean;
  /** Our port, if it is an open TCP connection. */
  readonly localPort?: number;
  /** Keeps what is written from now on. */
  cork(): void;
  destroy(): void;
  once(event: 'close', listener: () => void): void;
}

/** Resolves once the pool has seen the connection close: released earlier, it would be handed to the next caller. */
export function closeNow(stream: Stream): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
  stream.destroy();
  return closed;
}
