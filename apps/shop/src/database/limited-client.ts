import pg from 'pg';

/** How long the server may take to answer a statement of the shop. */
const QUERY_TIMEOUT_MS = 30_000;

/**
 * A connection that closes when one of the shop's own statements times out: a server that vanished never answers, and
 * the connection would hold its slot in the pool for ever. (The payment module bounds its own statements.)
 */
export class LimitedClient extends pg.Client {
  override query = ((...args: Parameters<pg.Client['query']>) => {
    const sent: unknown = super.query(...args);
    if (sent instanceof Promise) {
      const late = setTimeout(() => this.connection.stream.destroy(), QUERY_TIMEOUT_MS);
      const answered = (): void => clearTimeout(late);
      sent.then(answered, answered);
    }
    return sent;
  }) as pg.Client['query'];
}
