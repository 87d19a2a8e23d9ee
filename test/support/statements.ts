import type { DataSource } from 'typeorm';

interface PgClient {
  query(...parameters: unknown[]): unknown;
}

/**
 * Counts every statement that this process sends over any connection, including the host's, until it is stopped.
 */
export class Statements {
  private readonly seen: { readonly client: PgClient; readonly sql: string }[] = [];
  /** Stop counters in reverse order of their start. */
  readonly stop: () => void;

  constructor(dataSource: DataSource) {
    const pool = (dataSource.driver as unknown as { master: { Client: { prototype: PgClient } } }).master;
    // The pool's client may be a subclass of `pg`'s.
    let { prototype } = pool.Client;
    while (!Object.hasOwn(prototype, 'query')) prototype = Object.getPrototypeOf(prototype) as PgClient;
    const { query } = prototype;
    const { seen } = this;
    this.stop = () => (prototype.query = query);
    prototype.query = function (this: PgClient, ...parameters: unknown[]): unknown {
      const [what] = parameters;
      const sql = typeof what === 'string' ? what : (what as { text: string }).text;
      // Depends on time, not on the work.
      if (sql !== 'DISCARD PLANS') seen.push({ client: this, sql });
      return query.apply(this, parameters);
    };
  }

  /** The counts since the last call. `commits`: writing transactions, including single statements. */
  take(): { statements: number; commits: number } {
    const seen = this.seen.splice(0);
    const inside = new Set<PgClient>();
    let commits = 0;
    for (const { client, sql } of seen) {
      if (sql.startsWith('START TRANSACTION')) inside.add(client);
      else if (sql === 'COMMIT' || (!inside.has(client) && WRITES.test(sql))) commits += 1;
      if (sql === 'COMMIT' || sql === 'ROLLBACK') inside.delete(client);
    }
    return { statements: seen.length, commits };
  }
}

const WRITES = /\b(INSERT INTO|DELETE FROM|UPDATE ["\w]+[. ])/;
