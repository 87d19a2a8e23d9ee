import type { QueryRunner } from 'typeorm';
import type { Stream } from '../socket.js';
import { UndestroyableConnectionError } from '../storage.errors.js';

/** The parts of `pg`'s client that are needed to end its connection at once, and to know what has become of a transaction. */
export interface PgClient {
  readonly processID: number;
  /** Of the session: who knows it may cancel its statements. */
  readonly secretKey: unknown;
  readonly host?: string;
  readonly port: number;
  readonly ssl?: unknown;
  readonly sslNegotiation?: unknown;
  readonly connection: PgConnection;
}

export interface PgConnection {
  readonly stream: Stream;
  on(event: 'readyForQuery' | 'errorMessage', listener: OnAnswer): void;
  off(event: 'readyForQuery' | 'errorMessage', listener: OnAnswer): void;
}

/** Told after each statement; status `E` is a transaction that a statement's failure has ended. An error comes before it. */
export type OnAnswer = (message: { readonly status?: string }) => void;

/** What TypeORM's query runner has for PostgreSQL, and keeps private. */
interface PgRunner {
  releasePostgresConnection(error: Error): Promise<void>;
}

/** Releases the runner of a connection that is ended instead of being handed to the next caller. */
export function removeFromPool(runner: QueryRunner): Promise<void> {
  return (runner as unknown as PgRunner).releasePostgresConnection(
    new Error('The connection is not to be used again.'),
  );
}

/** @throws UndestroyableConnectionError */
export function pgClientOf(connection: unknown): PgClient {
  if (!isPgClient(connection)) throw new UndestroyableConnectionError();
  return connection;
}

/** Whether it is a connection of the JavaScript client, not of pg-native. */
export function isPgClient(connection: unknown): connection is PgClient {
  const client = connection as Partial<PgClient>;
  return typeof client.connection?.stream.destroy === 'function' && typeof client.processID === 'number';
}
