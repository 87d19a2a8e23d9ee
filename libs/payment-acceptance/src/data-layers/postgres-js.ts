import { withTimeout } from '../common/timeout.js';
import { statementRefused } from '../database/database.errors.js';
import type { PaymentTransactions } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE } from '../database/pool.js';

/** The parts of a postgres.js client that are used. */
export interface PostgresJs {
  readonly options: object;
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): PostgresJsQuery;
  end(options: { readonly timeout: number }): Promise<void>;
}

/** The parts of a query of postgres.js that are used. It is sent when it is awaited. */
export interface PostgresJsQuery extends PromiseLike<readonly unknown[] & { readonly count: number | null }> {
  values(): PromiseLike<unknown>;
}

/** Options for a client of postgres.js with a single connection, which the module opens and closes. */
export interface PostgresJsOptions {
  readonly max: 1;
  /** Seconds. */
  readonly idle_timeout: number;
  /** No limit. */
  readonly max_lifetime: 0;
  /** Otherwise the driver ends the process if the connection is lost meanwhile. */
  readonly fetch_types: false;
  readonly onclose: () => void;
}

type Unsafe = PostgresJs['unsafe'];
type Rows = Awaited<PostgresJsQuery>;

/** The part of a client that layers use within a transaction. */
interface TransactionClient {
  readonly options: object;
  readonly unsafe: Unsafe;
  readonly begin: <T>(work: (client: TransactionClient) => Promise<T>) => Promise<T>;
  readonly savepoint: TransactionClient['begin'];
}

const IDLE_MS = 1_000;

/** Longer than any transaction: the driver's timer runs within them, too. It ends what opens after its session was closed. */
const DRIVER_IDLE_SECONDS = 86_400;

const ROLLBACK_TIMEOUT_MS = 2_000;

/**
 * A client with one connection. postgres.js (3.4) ends the process if anything is sent to a connection that has ended, and sends
 * what waits on a new one, outside the transaction. So statements are sent one at a time, and none once the connection has ended.
 */
class Session {
  isLost = false;
  readonly options: object;
  private readonly sql: PostgresJs;
  private latest: Promise<unknown> = Promise.resolve();
  private reportLoss: (reason: Error) => void = () => undefined;

  /** @throws TypeError if the options are not passed on */
  constructor(open: (options: PostgresJsOptions) => PostgresJs) {
    const onclose = (): void => this.lose();
    const own = { max: 1, idle_timeout: DRIVER_IDLE_SECONDS, max_lifetime: 0, fetch_types: false, onclose } as const;
    this.sql = open(own);
    this.options = this.sql.options;
    const given = this.options as Record<string, unknown>;
    if (given.max !== 1 || given.onclose !== onclose || given.fetch_types) {
      throw new TypeError(
        'Pass the options on to postgres.js last: (options) => postgres(url, { ...yours, ...options }).',
      );
    }
  }

  /** Rejects once the connection has ended, or been closed. One transaction at a time. */
  watch(): Promise<never> {
    const lost = new Promise<never>((_resolve, reject) => (this.reportLoss = reject));
    lost.catch(() => undefined);
    return lost;
  }

  /** @param enter throws if the statement must not be sent any more */
  prepare(enter: () => void, ...statement: Parameters<Unsafe>): PostgresJsQuery {
    const query = this.sql.unsafe(...statement);
    let sent: Promise<Rows> | undefined;
    const send = async (): Promise<Rows> => {
      enter();
      const turn = this.latest;
      let end = (): void => undefined;
      this.latest = new Promise<void>((resolve) => (end = resolve));
      try {
        await turn;
        if (this.isLost) throw statementRefused();
        return await query;
      } finally {
        end();
      }
    };
    const prepared: PostgresJsQuery = {
      then: (...given) => (sent ??= send()).then(...given),
      values: () => {
        query.values(); // changes the query itself
        return prepared;
      },
    };
    return prepared;
  }

  async close(): Promise<void> {
    this.lose();
    await this.sql.end({ timeout: 0 });
  }

  private lose(): void {
    this.isLost = true;
    this.reportLoss(new Error('The connection of the transaction was closed.'));
  }
}

/** At most `size` sessions, opened when needed, and closed when idle. */
class Sessions {
  private readonly idle = new Map<Session, NodeJS.Timeout>();
  private readonly waiting: (() => void)[] = [];
  private used = 0;

  constructor(
    private readonly open: (options: PostgresJsOptions) => PostgresJs,
    readonly size: number,
  ) {
    if (!Number.isInteger(size) || size < 1) throw new RangeError('connections must be a whole number from 1.');
  }

  free(): number {
    return this.size - this.used - this.waiting.length;
  }

  async use<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    if (this.used === this.size) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.used += 1;
    try {
      signal.throwIfAborted();
      const session = this.takeIdle() ?? new Session(this.open);
      try {
        return await work(session);
      } finally {
        if (!session.isLost)
          this.idle.set(
            session,
            setTimeout(() => this.closeIdle(session), IDLE_MS),
          );
      }
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.used -= 1;
    }
  }

  private takeIdle(): Session | undefined {
    for (const [session, timer] of this.idle) {
      clearTimeout(timer);
      this.idle.delete(session);
      if (!session.isLost) return session;
    }
    return undefined;
  }

  private closeIdle(session: Session): void {
    this.idle.delete(session);
    void session.close();
  }
}

/**
 * Transactions of a layer that can be created on a client of postgres.js.
 * @param open creates a client of the host's database with these options
 * @param begin creates the layer on the client, whose `begin` enters the open transaction, and calls the work there
 * @throws RangeError for a `size` that is no number of connections
 */
export function onPostgresJs<Tx extends object>(
  open: (options: PostgresJsOptions) => PostgresJs,
  begin: <T>(client: TransactionClient, work: (tx: Tx) => Promise<T>) => Promise<T>,
  size = DEFAULT_POOL_SIZE,
): PaymentTransactions<Tx> {
  const sessions = new Sessions(open, size);
  const senders = new WeakMap<Tx, Unsafe>();
  return {
    placeholders: '$1',
    pool: sessions,
    run: (work, { signal }) =>
      sessions.use(signal, async (session) => {
        const lost = session.watch();
        const send: Unsafe = (...statement) => session.prepare(() => undefined, ...statement);
        let isOver = false;
        const gated: Unsafe = (...statement) =>
          session.prepare(
            () => {
              if (isOver) throw statementRefused();
            },
            ...statement,
          );
        const end = (): void => void (isOver = true);
        const inside = (tx: Tx): ReturnType<typeof work> => {
          senders.set(tx, send);
          return work(tx).finally(end);
        };
        // While it connects, nobody else can end it.
        let onAbort = (): void => void session.close();
        const aborted = (): void => onAbort();
        signal.addEventListener('abort', aborted, { once: true });
        try {
          await Promise.race([send('BEGIN ISOLATION LEVEL READ COMMITTED'), lost]);
          // Before the session is ended at the server.
          onAbort = end;
          const result = await Promise.race([begin(nestable(session.options, gated), inside), lost]);
          await Promise.race([send('COMMIT'), lost]);
          return result;
        } catch (error) {
          if (!session.isLost) {
            await withTimeout(ROLLBACK_TIMEOUT_MS, Promise.race([send('ROLLBACK'), lost])).catch(() => session.close());
          }
          throw error;
        } finally {
          end();
          signal.removeEventListener('abort', aborted);
        }
      }),
    async query(tx, text, values) {
      const send = senders.get(tx);
      if (!send) throw statementRefused();
      const rows = await send(text, [...values] as never[], { prepare: true });
      return { rows, rowCount: rows.count ?? 0 };
    },
  };
}

/** A client in a transaction, whose own transactions are savepoints. */
function nestable(options: object, unsafe: Unsafe): TransactionClient {
  let savepoints = 0;
  const savepoint: TransactionClient['savepoint'] = async (work) => {
    savepoints += 1;
    const name = `s${savepoints}`;
    await unsafe(`SAVEPOINT ${name}`);
    try {
      return await work(client);
    } catch (error) {
      await unsafe(`ROLLBACK TO ${name}`);
      throw error;
    }
  };
  const client: TransactionClient = { options, unsafe, savepoint, begin: (work) => work(client) };
  return client;
}
