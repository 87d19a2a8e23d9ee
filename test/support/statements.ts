import mysql from 'mysql2';
import pg from 'pg';

interface Client {
  query(...parameters: unknown[]): unknown;
}

interface Sent {
  readonly client: object;
  readonly sql: string;
  readonly values: unknown;
}

/** Calls the listener for every statement that this process sends over any connection. Stop listeners in reverse order. */
export function onStatement(listener: (sent: Sent) => void): () => void {
  const stops = [pg.Client.prototype, mysql.Connection.prototype].map((prototype) => listen(prototype, listener));
  return () => {
    for (const stop of stops) stop();
  };
}

function listen(given: object, listener: (sent: Sent) => void): () => void {
  let prototype = given as Client;
  while (!Object.hasOwn(prototype, 'query')) prototype = Object.getPrototypeOf(prototype) as Client;
  const { query } = prototype;
  prototype.query = function (this: Client, ...parameters: unknown[]): unknown {
    const [what, more] = parameters;
    const { text, sql, values } = what as { text?: string; sql?: string; values?: unknown };
    const statement = typeof what === 'string' ? what : (text ?? sql);
    if (statement !== undefined) listener({ client: this, sql: statement, values: values ?? more });
    return query.apply(this, parameters);
  };
  return () => (prototype.query = query);
}

/**
 * Counts every statement that this process sends over any connection, including the host's, until it is stopped.
 */
export class Statements {
  private readonly seen: Sent[] = [];
  /** Depends on time, not on the work. */
  readonly stop = onStatement((sent) => sent.sql !== 'DISCARD PLANS' && this.seen.push(sent));

  /** The counts since the last call. `commits`: writing transactions, including single statements. */
  take(): { statements: number; commits: number } {
    const seen = this.seen.splice(0);
    const inside = new Set<object>();
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
