import type { Stream } from '../socket.js';
import { UndestroyableConnectionError } from '../database.errors.js';

/** The parts of `pg`'s client that are used to destroy its connection, and to see the status of a transaction. */
export interface PgClient {
  readonly processID: number;
  /** Whether no statement is under way; a client that the host has wrapped may not report it. */
  readonly readyForQuery?: boolean;
  /** Whether statements are sent without waiting for earlier answers; `pg` 8.23 and newer can do so. */
  readonly pipeline?: boolean;
  /** Secret of the session, which authorizes cancelling its statements. */
  readonly secretKey: unknown;
  readonly host?: string;
  readonly port: number;
  readonly ssl?: unknown;
  readonly sslNegotiation?: unknown;
  readonly connection: PgConnection;
}

export interface PgConnection {
  readonly stream: Stream;
}

export function pgClientOf(connection: unknown): PgClient {
  if (!isPgClient(connection)) throw new UndestroyableConnectionError();
  return connection;
}

/** Whether the connection is one of the JavaScript client, not of pg-native. */
export function isPgClient(connection: unknown): connection is PgClient {
  const client = connection as Partial<PgClient>;
  return typeof client.connection?.stream.destroy === 'function' && typeof client.processID === 'number';
}
