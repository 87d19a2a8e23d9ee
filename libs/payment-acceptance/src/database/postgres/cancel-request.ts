import { withTimeout } from '../../common/timeout.js';
import type { Stream } from '../socket.js';
import type { PgClient } from './pg-connection.js';

/** The parts of `pg`'s `Connection` that send a CancelRequest, which needs a connection of its own. */
interface CancelConnection {
  readonly stream: Stream;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: unknown): void;
  on(event: 'connect' | 'sslconnect' | 'end', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

const CANCEL_TIMEOUT_MS = 1_000;

/**
 * Cancels the statement of a connection with a CancelRequest of PostgreSQL's protocol, which needs no connection of the
 * pool. Once the connection is closed, the server notices that, and ends the session with its locks. The request
 * names the session by its secret, so it cancels nothing if the address leads to another server by now. If it fails,
 * the locks stay until the statement ends by itself.
 */
export async function cancelStatement(client: PgClient): Promise<void> {
  const Connection = client.connection.constructor as new (options: object) => CancelConnection;
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
  await withTimeout(CANCEL_TIMEOUT_MS, ended).catch(() => undefined);
  connection.stream.destroy();
}
