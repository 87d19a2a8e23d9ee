import pg from 'pg';

/** How long the server may take to answer a statement of the shop. */
const LIMIT_MS = 30_000;

/**
 * A connection that ends when a statement of the shop's own is not answered in time: a server that is gone without a word
 * never answers, and would keep the connection's place in the pool for good. (The payment module bounds its own statements.)
 */
export class LimitedClient extends pg.Client {
  override query = ((...given: Parameters<pg.Client['query']>) => {
    const sent: unknown = super.query(...given);
    if (sent instanceof Promise) {
      const late = setTimeout(() => this.connection.stream.destroy(), LIMIT_MS);
      const answered = (): void => clearTimeout(late);
      sent.then(answered, answered);
    }
    return sent;
  }) as pg.Client['query'];
}
