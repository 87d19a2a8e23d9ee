/** A connection of a driver, as its pool gives it. */
export type Connection = object;

export interface ConnectionSource {
  readonly type: 'postgres' | 'mariadb';
  readonly size: number;
  /** Connections not in use, minus the callers waiting for one; negative if more callers wait. */
  free(): number;
  connect(): Promise<Connection>;
  /** @param isBroken whether the connection is already closed, so that the pool must replace it */
  release(connection: Connection, isBroken: boolean): void;
  onOpened(listener: (connection: Connection) => void): void;
  /** Limits how long opening a connection may take, in milliseconds, unless the host has set a limit. */
  limitOpening(timeoutMs: () => number): void;
  /** What opens connections of `pg` outside the pool. */
  readonly pg?: PgDriver | undefined;
  /** Closes what the module has opened; the host's pools stay open. */
  close(): Promise<void>;
}

export interface PgDriver {
  /** Absent if the pool's driver is not `pg`. */
  readonly Client?: new (options: unknown) => object;
  readonly options: unknown;
}
