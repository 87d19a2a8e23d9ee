/** A driver's socket. */
export interface Stream {
  readonly closed: boolean;
  readonly destroyed: boolean;
  /** Our port, where it is a TCP connection that is open. */
  readonly localPort?: number;
  destroy(): void;
  once(event: 'close', listener: () => void): void;
}

/** Resolves when the pool has seen the connection close: released before, it would be handed to the next caller. */
export function closeNow(stream: Stream): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
  stream.destroy();
  return closed;
}
