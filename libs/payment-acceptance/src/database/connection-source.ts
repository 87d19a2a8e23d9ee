/** A connection of a driver, as its pool gives it. */
export type Connection = object;

/** Where the module's connections come from: a pool of `pg` or `mysql2`. */
export interface ConnectionSource {
  readonly type: 'postgres' | 'mariadb';
  /** Maximum number of connections. */
  readonly size: number;
  /** How many are neither in use nor waited for; negative if many callers wait. */
  free(): number;
  connect(): Promise<Connection>;
  /** @param isBroken it is closed already, and another takes its place */
  release(connection: Connection, isBroken: boolean): void;
  /** Calls the listener for each new connection. */
  onOpened(listener: (connection: Connection) => void): void;
  /** How long opening a connection may take, in milliseconds, where the host has set no limit. */
  limitOpening(timeoutMs: () => number): void;
  /** What opens connections of `pg` outside the pool. */
  readonly pg?: PgDriver | undefined;
  /** Closes what the module has opened. */
  close(): Promise<void>;
}

/** What opens connections of `pg`. */
export interface PgDriver {
  /** Absent if the driver is another. */
  readonly Client?: new (options: unknown) => object;
  /** What the pool opens its connections with. */
  readonly options: unknown;
}
