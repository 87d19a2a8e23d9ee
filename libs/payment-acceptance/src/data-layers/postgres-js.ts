import { withTimeout } from '../common/timeout.js';
import { statementRefused } from '../database/database.errors.js';
import type { PaymentTransactions } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE } from '../database/pool.js';

/** The parts of a postgres.js client that are used. */
export interface PostgresJs {
  readonly options: object;
  reserve(): Promise<PostgresJsReserved>;
  end(options: { readonly timeout: number }): Promise<void>;
}

/** The parts of a reserved connection of postgres.js that are used. */
export interface PostgresJsReserved {
  unsafe(
    text: string,
    values?: never[],
    options?: { prepare?: boolean },
  ): Promise<readonly unknown[] & { readonly count: number | null }>;
  release(): void;
}

/** Options for a client of postgres.js with a single connection. */
export interface PostgresJsOptions {
  readonly max: 1;
  /** Seconds without use after which the connection is closed. */
  readonly idle_timeout: number;
  readonly onclose: () => void;
}

type Unsafe = PostgresJsReserved['unsafe'];

/** The part of a client that layers use within a transaction. */
interface TransactionClient {
  readonly options: object;
  readonly unsafe: Unsafe;
  readonly begin: <T>(work: (client: TransactionClient) => Promise<T>) => Promise<T>;
  readonly savepoint: TransactionClient['begin'];
}

const IDLE_SECONDS = 1;

const ROLLBACK_TIMEOUT_MS = 2_000;

/** postgres.js (3.4) ends the process if anything is sent to a session that has ended. So we must know: one connection each. */
class Session {
  readonly sql: PostgresJs;
  readonly lost: Promise<never>;
  isLost = false;

  constructor(open: (options: PostgresJsOptions) => PostgresJs) {
    let reject = (_reason: Error): void => undefined;
    this.lost = new Promise((_resolve, rejected) => (reject = rejected));
    this.lost.catch(() => undefined);
    const onclose = (): void => {
      this.isLost = true;
      reject(new Error('The connection of the transaction was closed.'));
    };
    this.sql = open({ max: 1, idle_timeout: IDLE_SECONDS, onclose });
  }

  async reserve(): Promise<PostgresJsReserved> {
    try {
      return await this.sql.reserve();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.isLost = true;
    await this.sql.end({ timeout: 0 });
  }
}

/** At most `size` sessions, opened when needed. */
class Sessions {
  private readonly idle: Session[] = [];
  private readonly waiting: (() => void)[] = [];
  private used = 0;

  constructor(
    private readonly open: (options: PostgresJsOptions) => PostgresJs,
    readonly size: number,
  ) {}

  free(): number {
    return this.size - this.used - this.waiting.length;
  }

  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.used === this.size) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.used += 1;
    let session: Session | undefined;
    try {
      do session = this.idle.pop();
      while (session?.isLost);
      session ??= new Session(this.open);
      return await work(session);
    } finally {
      if (session && !session.isLost) this.idle.push(session);
      const next = this.waiting.shift();
      if (next) next();
      else this.used -= 1;
    }
  }
}

/**
 * Transactions of a layer that can be created on a client of postgres.js.
 * @param open creates a client of the host's database with these options
 * @param begin creates the layer on the client, whose `begin` enters the open transaction, and calls the work there
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
      sessions.use(async (session) => {
        const reserved = await session.reserve();
        const send: Unsafe = (...statement) => {
          if (session.isLost) throw statementRefused();
          return reserved.unsafe(...statement);
        };
        let isOver = signal.aborted;
        const close = (): void => void (isOver = true);
        // Before the session is ended at the server.
        signal.addEventListener('abort', close, { once: true });
        const gated: Unsafe = (...statement) => {
          if (isOver) throw statementRefused();
          return send(...statement);
        };
        const inside = (tx: Tx): ReturnType<typeof work> => {
          senders.set(tx, send);
          return work(tx).finally(close);
        };
        try {
          await send('BEGIN ISOLATION LEVEL READ COMMITTED');
          const running = begin(nestable(session.sql.options, gated), inside);
          const result = await Promise.race([running, session.lost]);
          await send('COMMIT');
          return result;
        } catch (error) {
          if (!session.isLost) {
            await withTimeout(ROLLBACK_TIMEOUT_MS, send('ROLLBACK')).catch(() => session.close());
          }
          throw error;
        } finally {
          close();
          signal.removeEventListener('abort', close);
          if (!session.isLost) reserved.release();
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
