import type { DataSource } from 'typeorm';
import { withTimeout } from '../../common/timeout.js';
import type { Stream } from '../socket.js';
import type { PgClient } from './pg-connection.js';

/** The part of `pg`'s connections that says what no client does: it goes out on a connection of its own, and nothing is answered. */
interface CancelConnection {
  readonly stream: Stream;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: unknown): void;
  on(event: 'connect' | 'sslconnect' | 'end', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface Pg {
  readonly Connection?: new (options: { ssl: unknown; sslNegotiation: unknown }) => CancelConnection;
}

/** How long the server is asked, at most, in milliseconds. */
const CANCEL_MS = 1_000;

/**
 * Ends the statement of a connection that has been closed, by a CancelRequest of PostgreSQL's protocol; the server then finds
 * the connection closed, and ends the session with its locks. It needs no connection of the pool, and names the session by
 * its secret: where the address leads to another server by now, it ends nothing of that one's, whatever number it has there.
 * Where it cannot be done, locks stay until the statement ends by itself, and nothing is wrong but the delay.
 */
export async function cancelStatement({ driver }: DataSource, client: PgClient): Promise<void> {
  const { Connection } = (driver as { postgres?: Pg }).postgres ?? {};
  if (!Connection) return;
  const { ssl, sslNegotiation, host = '', port, processID, secretKey } = client;
  const connection = new Connection({ ssl, sslNegotiation });
  const ended = new Promise<void>((resolve) => {
    connection.on('end', resolve);
    connection.on('error', () => resolve());
  });
  const cancel = (): void => connection.cancel(processID, secretKey);
  connection.on('sslconnect', cancel);
  connection.on('connect', () => {
    if (!ssl) cancel();
    else if (sslNegotiation !== 'direct') connection.requestSsl();
  });
  if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
  await withTimeout(CANCEL_MS, ended).catch(() => undefined);
  connection.stream.destroy();
}
