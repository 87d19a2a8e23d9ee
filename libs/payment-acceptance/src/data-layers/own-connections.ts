import { statementRefused } from '../database/database.errors.js';
import type { PaymentTransactions, PaymentTransactionsPool, Scalar } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE, occupiedOf, type MysqlOccupancy, type PgOccupancy } from '../database/pool.js';

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

/** The parts of a pool of `mysql2` that are used. One of `mysql2/promise` has it in `pool`. */
export interface MysqlPool {
  readonly pool?: object;
  getConnection(...given: never[]): unknown;
}

interface CallbackPool extends MysqlOccupancy {
  readonly config?: { readonly connectionLimit?: number };
  getConnection(done: (error: Error | null, connection: MysqlConnection) => void): void;
}

/** The parts of a connection of `mysql2` that are used. */
export interface MysqlConnection {
  query(sql: string, values: unknown[], done: (error: Error | null, result: unknown) => void): unknown;
  release(): void;
  destroy(): void;
}

type Answer = Awaited<ReturnType<PaymentTransactions['query']>>;

/** A connection of the host's pool that serves one transaction. */
interface Taken<Client> {
  readonly client: Client;
  send(sql: string, values: readonly Scalar[]): Promise<Answer>;
  release(isBroken: boolean): void;
}

/** A pool of the host's driver, whichever it is. */
interface Source<Client> extends Pick<PaymentTransactions, 'placeholders'> {
  readonly pool: PaymentTransactionsPool;
  take(): Promise<Taken<Client>>;
}

/** What the module sends last; on MariaDB, to switch autocommit on commits. */
const LAST = /^\s*(ROLLBACK|SET autocommit = 1)/;

/** The statement that ends a transaction. */
const END = /^\s*(commit|rollback)\s*;?\s*$/i;

/**
 * Transactions of a layer that can be made on one client. Each gets a client of the host's pool, which from the end of the work
 * on lets only COMMIT or ROLLBACK pass: statements that a handler did not await would otherwise commit by themselves.
 * @param begin makes the layer on the client, and calls the work within a transaction of it, at READ COMMITTED
 */
export function onOwnConnections<Client extends object, Tx extends object>(
  source: Source<Client>,
  begin: <T>(client: Client, work: (tx: Tx) => Promise<T>) => Promise<T>,
): PaymentTransactions<Tx> {
  const transactions = new WeakMap<Tx, { readonly connection: Taken<Client>; readonly gate: Gate }>();
  return {
    placeholders: source.placeholders,
    pool: source.pool,
    async run(work) {
      const connection = await source.take();
      const gate = new Gate();
      let isBroken = false;
      try {
        return await begin(gate.before(connection.client), async (tx) => {
          transactions.set(tx, { connection, gate });
          return work(tx).finally(() => gate.close());
        });
      } catch (error) {
        // Whatever the layer has sent, or not: with a transaction open it must not go back to the pool.
        await connection.send('ROLLBACK', []).catch(() => (isBroken = true));
        throw error;
      } finally {
        gate.shut();
        connection.release(isBroken);
      }
    },
    async query(tx, sql, values) {
      const own = transactions.get(tx);
      if (!own) throw statementRefused();
      // Of the module: what the handler has yet to send must not come after it.
      if (LAST.test(sql)) own.gate.close();
      return own.connection.send(sql, values);
    },
  };
}

/** What may still pass to a connection. */
class Gate {
  private passes: 'all' | 'ends' | 'none' = 'all';

  /** From now on only the end of the transaction passes. */
  close(): void {
    this.passes = 'ends';
  }

  shut(): void {
    this.passes = 'none';
  }

  before<Client extends object>(client: Client): Client {
    const gated: Client = new Proxy(client, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        // The connection stays ours, whatever the layer believes.
        if (key === 'release' || key === 'end' || key === 'destroy') return () => undefined;
        return (...given: unknown[]): unknown => {
          if (this.passes === 'none' || (this.passes === 'ends' && !isEnd(given[0]))) throw statementRefused();
          const answer: unknown = Reflect.apply(value, target, given);
          if (answer === target) return gated;
          // The same connection of `mysql2`, for callers that want promises.
          return key === 'promise' ? this.before(answer as object) : answer;
        };
      },
    });
    return gated;
  }
}

function isEnd(statement: unknown): boolean {
  const { text, sql = text } = (typeof statement === 'string' ? { sql: statement } : (statement ?? {})) as Statement;
  return typeof sql === 'string' && END.test(sql);
}

/** As `pg` and `mysql2` take it. */
interface Statement {
  readonly text?: unknown;
  readonly sql?: unknown;
}

/** A `pg.Pool`. */
export function pgSource(pool: PgPool): Source<PgClient> {
  const size = pool.options.max ?? DEFAULT_POOL_SIZE;
  return {
    placeholders: '$1',
    pool: { size, free: () => size - occupiedOf(pool) },
    async take() {
      const client = await pool.connect();
      // A session that is ended at the server emits it, and without a listener the process would end.
      const onError = (): void => undefined;
      client.on('error', onError);
      return {
        client,
        async send(sql, values) {
          const { rows, rowCount } = await client.query(sql, [...values]);
          return { rows, rowCount: rowCount ?? 0 };
        },
        release(isBroken) {
          client.release(isBroken);
          if (!isBroken) client.removeListener('error', onError);
        },
      };
    },
  };
}

/** A pool of `mysql2` or `mysql2/promise`. */
export function mysqlSource(given: MysqlPool): Source<MysqlConnection> {
  const pool = (given.pool ?? given) as CallbackPool;
  const size = pool.config?.connectionLimit ?? DEFAULT_POOL_SIZE;
  return {
    placeholders: '?',
    pool: { size, free: () => size - occupiedOf(pool) },
    async take() {
      const client = await new Promise<MysqlConnection>((resolve, reject) =>
        pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
      );
      return {
        client,
        send: (sql, values) =>
          new Promise((resolve, reject) =>
            client.query(sql, [...values], (error, result) => (error ? reject(error) : resolve(answerOf(result)))),
          ),
        release: (isBroken) => (isBroken ? client.destroy() : client.release()),
      };
    },
  };
}

/** `mysql2` answers with rows, or with a header for what changes some. */
export function answerOf(result: unknown): Answer {
  if (Array.isArray(result)) return { rows: result, rowCount: result.length };
  return { rows: [], rowCount: (result as { affectedRows?: number }).affectedRows ?? 0 };
}

/** The pool of the host's driver: that of `pg` has `connect`, that of `mysql2` has `getConnection`. */
export function sourceOf(pool: PgPool | MysqlPool): Source<PgClient | MysqlConnection> {
  return 'connect' in pool ? pgSource(pool) : mysqlSource(pool);
}
