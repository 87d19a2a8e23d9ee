import type { Stream } from '../socket.js';
import { UndestroyableConnectionError } from '../database.errors.js';

/** The parts of a `mysql2` connection that are used to destroy it. */
export interface MysqlConnection {
  readonly threadId: number;
  readonly stream: Stream;
  /** The statement that is under way; others wait behind it. */
  readonly _command?: unknown;
  on(event: 'error', listener: () => void): void;
}

/** @throws UndestroyableConnectionError */
export function mysqlConnectionOf(candidate: unknown): MysqlConnection {
  const connection = candidate as Partial<MysqlConnection>;
  if (typeof connection.stream?.destroy !== 'function' || typeof connection.threadId !== 'number') {
    throw new UndestroyableConnectionError();
  }
  return connection as MysqlConnection;
}
