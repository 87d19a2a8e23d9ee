import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { withTimeout } from '../common/timeout.js';
import type { Connection } from './connection-source.js';
import type { Database } from './database.js';
import { statementRefused, workContinued } from './database.errors.js';
import { idleTimeoutSettings } from './mariadb/maria.database.js';
import { runOnConnection } from './mariadb/mysql-query.js';
import type { DriverTransactions, Scalar } from './payment-transactions.js';
import type { PgOccupancy } from './pool.js';
import { poolSource } from './pool-source.js';
import { isReadOnly } from './query-errors.js';
import { runOnClient } from './postgres/pg-query.js';

/** The parts of a `pg.Pool` that are used. */
export interface PgPool extends PgOccupancy {
  readonly options: { readonly max?: number };
  connect(): Promise<PgClient>;
}

/** The parts of a `pg.PoolClient` that are used. */
export interface PgClient {
  query(sql: string, values?: unknown[]): Promise<{ command?: string; rows: unknown[]; rowCount: number | null }>;
  release(broken?: boolean): void;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
}

/** The parts of a `mysql2` pool that are used. A pool of `mysql2/promise` has the plain pool in `pool`. */
export interface MysqlPool {
  readonly pool?: object;
  getConnection(...given: never[]): unknown;
}

/** The parts of a connection of `mysql2` that are used. */
export interface MysqlConnection {
  query(sql: string, values: unknown[], done: (error: Error | null, result: unknown) => void): unknown;
  promise?(): { query(sql: string): Promise<unknown> };
  release(): void;
  destroy(): void;
}

type Answer = Awaited<ReturnType<DriverTransactions['query']>>;

type Client = PgClient & MysqlConnection;

/** How long a transaction may exceed its limit, and how long its rollback may take, before its connection is closed. */
const GRACE_MS = 2_000;

const END_PATTERN = /^\s*(commit|rollback)\s*;?\s*$/i;

/**
 * Transactions of a layer that can be created on a single client. Each transaction gets a client of the host's pool.
 * Once the work has ended, only COMMIT or ROLLBACK pass to the client: statements that a handler did not await would
 * otherwise commit alone.
 * @param begin creates the layer on the client, and calls the work in a transaction of the layer, at READ COMMITTED;
 *   statements of the host that belong to the end of the transaction pass within `whileEnding`
 * @param database ends what is under way on a connection that cannot be rolled back
 */
export function onOwnConnections<Tx extends object>(
  pool: PgPool | MysqlPool,
  begin: <T>(
    client: Client,
    work: (tx: Tx) => Promise<T>,
    whileEnding: <E>(end: () => Promise<E>) => Promise<E>,
  ) => Promise<T>,
  database?: Pick<Database, 'connections' | 'destroy' | 'isBusy'>,
): DriverTransactions<Tx> {
  const source = poolSource(pool);
  if (database) source.limitOpening(() => database.connections.statementTimeoutMs);
  const isPg = source.type === 'postgres';
  const send = isPg ? sendOnPg : sendOnMysql;
  const transactions = new WeakMap<Tx, { readonly connection: Connection; readonly gate: Gate }>();
  const ownOf = (tx: Tx) => {
    const transaction = transactions.get(tx);
    if (!transaction) throw statementRefused();
    return transaction;
  };
  return {
    placeholders: isPg ? '$1' : '?',
    pool: source,
    async run(work, { timeoutMs }) {
      const connection = await source.connect();
      const gate = new Gate();
      const { before, after } = idleTimeoutSettings(timeoutMs);
      const set = async (settings: string): Promise<void> => {
        if (!isPg) await withTimeout(GRACE_MS, send(connection, `SET ${settings}`, []));
      };
      let isBroken = false;
      try {
        await set(`${ofMariaDb(before)} autocommit = 0`);
        const inside = async (tx: Tx): ReturnType<typeof work> => {
          transactions.set(tx, { connection, gate });
          const result = await work(tx).finally(() => gate.close());
          await setImmediate();
          if (gate.hasRefused) throw workContinued();
          return result;
        };
        const running = begin(gate.before(connection as Client), inside, (end) => gate.whileEnding(end));
        // If the server no longer answers, the pool still gets its place back after this time.
        return await withTimeout(timeoutMs + GRACE_MS, running);
      } catch (error) {
        // Sent even if the layer has rolled back: a connection with an open transaction must not go back to the pool.
        await withTimeout(GRACE_MS, send(connection, 'ROLLBACK', [])).catch(async () => {
          isBroken = true;
          // A statement that is under way holds its locks until it is ended at the server.
          await database?.destroy(connection);
        });
        isBroken ||= isReadOnly(error);
        throw error;
      } finally {
        gate.closeFully();
        // What a handler has sent past its manager may be under way even now.
        if (database?.isBusy(connection)) {
          isBroken = true;
          await database.destroy(connection);
        }
        await set(`${ofMariaDb(after)} autocommit = 1`).catch(() => (isBroken = true));
        source.release(connection, isBroken);
      }
    },
    query: async (tx, sql, values) => send(ownOf(tx).connection, sql, values),
    connectionOf: (tx) => ownOf(tx).connection,
    async close(tx) {
      // What the work has begun may reach the client in this turn of the event loop. The driver runs statements in order,
      // so the module's next one runs after those already under way.
      await setImmediate();
      ownOf(tx).gate.close();
    },
  };
}

/** Settings that only MariaDB has. MySQL, on which the inbox also runs, treats them as a comment. */
const ofMariaDb = (settings: string): string => `/*M! ${settings}, */`;

/** The gate whose transaction is being ended. On Node.js 20 and 22 its first use slows down every promise of the process. */
const ending = new AsyncLocalStorage<Gate>();

class Gate {
  /** Whether a statement has come too late. */
  hasRefused = false;
  private allowed: 'all' | 'ends' | 'none' = 'all';

  whileEnding<E>(end: () => Promise<E>): Promise<E> {
    return ending.run(this, end);
  }

  /** From now on only the end of the transaction passes. */
  close(): void {
    this.allowed = 'ends';
  }

  closeFully(): void {
    this.allowed = 'none';
  }

  before<Client extends object>(client: Client): Client {
    const gated: Client = new Proxy(client, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        // The connection stays ours, whatever the layer believes.
        if (key === 'release' || key === 'end' || key === 'destroy') return () => undefined;
        return (...args: unknown[]): unknown => {
          const isLate = this.allowed === 'ends' && !isEnd(args[0]) && key !== 'promise' && ending.getStore() !== this;
          if (this.allowed === 'none' || isLate) {
            this.hasRefused = true;
            throw statementRefused();
          }
          const answer: unknown = Reflect.apply(value, target, args);
          if (answer === target) return gated;
          // `promise()` returns the same `mysql2` connection with promises, which must be gated, too.
          return key === 'promise' ? this.before(answer as object) : answer;
        };
      },
    });
    return gated;
  }
}

function isEnd(statement: unknown): boolean {
  const { text, sql = text } = (typeof statement === 'string' ? { sql: statement } : (statement ?? {})) as Statement;
  return typeof sql === 'string' && END_PATTERN.test(sql);
}

interface Statement {
  readonly text?: unknown;
  readonly sql?: unknown;
}

const sendOnPg = async (client: Connection, text: string, values: readonly Scalar[]): Promise<Answer> => {
  const { rows, rowCount } = await runOnClient(client, { text, values });
  return { rows, rowCount: rowCount ?? 0 };
};

const sendOnMysql = async (client: Connection, text: string, values: readonly Scalar[]): Promise<Answer> =>
  answerOf(await runOnConnection(client, text, values));

/** `mysql2` answers a query with rows, and a statement that changes rows with a header. */
export function answerOf(result: unknown): Answer {
  if (Array.isArray(result)) return { rows: result, rowCount: result.length };
  return { rows: [], rowCount: (result as { affectedRows?: number }).affectedRows ?? 0 };
}
