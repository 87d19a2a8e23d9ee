import { withTimeout } from '../../common/timeout.js';
import type { Connection } from '../connection-source.js';
import { Database, type TransactionBounds } from '../database.js';
import type { Answer } from '../queryable.js';
import { flag } from '../reading.js';
import { closeNow, type Stream } from '../socket.js';
import { PaymentUnsupportedDataSourceError, UndestroyableConnectionError } from '../database.errors.js';
import { mariadb } from './dialect.js';
import { runOnConnection } from './mysql-query.js';

const KILL_TIMEOUT_MS = 2_000;

/** Behind a proxy, a thread counts as ours if its query has been running for this long, in milliseconds. */
const LONG_QUERY_MS = 1_000;

/** Modes in which some statements of ours would mean something else. */
const INCOMPATIBLE_MODES_PATTERN =
  /NO_BACKSLASH_ESCAPES|PIPES_AS_CONCAT|ANSI|ORACLE|HIGH_NOT_PRECEDENCE|EMPTY_STRING_IS_NULL/;

/** `before` lets the server end a transaction that idles for this long; `after` restores the host's value. */
export function idleTimeoutSettings(unattendedMs: number): { readonly before: string; readonly after: string } {
  const seconds = Math.ceil(unattendedMs / 1_000);
  return {
    before: `@payment_acceptance_idle = @@SESSION.idle_transaction_timeout, SESSION idle_transaction_timeout = ${seconds}`,
    after: 'SESSION idle_transaction_timeout = @payment_acceptance_idle',
  };
}

/**
 * MariaDB, through the driver `mysql2`. Transactions run at READ COMMITTED: at MariaDB's default level, the
 * gap locks of a claim block inserts.
 */
export class MariaDatabase extends Database {
  override readonly dialect = mariadb;
  protected override readonly prefix = `${this.schema}_`;

  override async send(connection: Connection, text: string, values: readonly unknown[] = []): Promise<Answer> {
    const result = await runOnConnection(connection, text, values.map(toDriverValue));
    return Array.isArray(result) ? { rows: result, changed: 0 } : { rows: [], changed: result.affectedRows ?? 0 };
  }

  /**
   * Sets READ COMMITTED for each transaction: the default of one session says nothing about the pool's other
   * connections. The idle timeout is a session setting, so the host's value is restored afterwards.
   */
  protected override bounds(unattendedMs: number): Promise<TransactionBounds> {
    const { before, after } = idleTimeoutSettings(unattendedMs);
    const begin = [`SET ${before}`, 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED', 'START TRANSACTION'];
    return Promise.resolve({ begin, after: `SET ${after}` });
  }

  override verifyDestroyable(connection: unknown): void {
    mysqlConnectionOf(connection);
  }

  override isPipelined(): boolean {
    return false;
  }

  override isBusy(connection: Connection): boolean {
    return Boolean(mysqlConnectionOf(connection)._command);
  }

  override async discard(connection: Connection): Promise<void> {
    const mysql = mysqlConnectionOf(connection);
    // The pool listens only for the first error; a second one would be unhandled.
    mysql.on('error', () => undefined);
    await closeNow(mysql.stream);
  }

  override async destroy(connection: Connection): Promise<void> {
    const { stream, threadId } = mysqlConnectionOf(connection);
    const { destroyed, localPort } = stream;
    await this.discard(connection);
    // Until the thread is killed, the server goes on with a running query and keeps its locks.
    if (!destroyed) await withTimeout(KILL_TIMEOUT_MS, this.kill(threadId, localPort)).catch(() => undefined);
  }

  /**
   * If this takes too long, its own connection is closed without killing its thread: that would need yet another one.
   */
  private async kill(threadId: number, localPort: number | undefined): Promise<void> {
    const connection = await this.source.connect();
    let isBroken = false;
    try {
      const killed = this.killThread(connection, threadId, localPort);
      await withTimeout(KILL_TIMEOUT_MS, killed).catch(async (error: unknown) => {
        killed.catch(() => undefined);
        isBroken = true;
        await this.discard(connection);
        throw error;
      });
    } finally {
      this.source.release(connection, isBroken);
    }
  }

  /**
   * Kills a thread if it appears to be ours: it has our connection's port, or, behind a proxy, a long-running query. If
   * the address leads to another server by now, the thread with this id belongs to somebody else.
   */
  private async killThread(connection: Connection, threadId: number, localPort = 0): Promise<void> {
    const { rows } = await this.send(
      connection,
      `SELECT ID FROM information_schema.PROCESSLIST
       WHERE ID = ? AND (HOST LIKE CONCAT('%:', ?) OR COMMAND IN ('Query', 'Execute') AND TIME_MS >= ?)`,
      [threadId, localPort, LONG_QUERY_MS],
    );
    if (rows.length > 0) await this.send(connection, 'KILL CONNECTION ?', [threadId]);
  }

  override async verify(): Promise<void> {
    const { type } = this.source;
    const [server] = await this.rows<{
      version: string;
      mode: string;
      autocommit: boolean;
      completion: string;
      binlog: string | null;
      charset: string;
    }>({ autocommit: flag })`
      SELECT VERSION() AS version, @@SESSION.sql_mode AS mode, @@SESSION.autocommit AS autocommit,
      @@SESSION.completion_type AS completion, CASE WHEN @@log_bin THEN @@SESSION.binlog_format END AS binlog,
      CONCAT_WS(',', @@character_set_client, @@character_set_connection, @@character_set_results) AS charset`;
    const { version = '', mode = '', autocommit = false, completion, binlog, charset = '' } = server ?? {};
    const [, major, minor] = /(\d+)\.(\d+)\.\d+-MariaDB/i.exec(version) ?? [];
    const require = (fits: boolean, problem: string): void => {
      if (!fits) throw new PaymentUnsupportedDataSourceError(type, problem);
    };
    const isNew = major !== undefined && Number(major) * 100 + Number(minor) >= 1006;
    require(isNew, `Its server is "${version}", but MariaDB 10.6 or newer is needed.`);
    require(/STRICT_(TRANS|ALL)_TABLES/.test(mode) &&
      !INCOMPATIBLE_MODES_PATTERN.test(
        mode,
      ), `Its sql_mode is "${mode}": it must include STRICT_TRANS_TABLES, and none of ANSI, ANSI_QUOTES, PIPES_AS_CONCAT, ` +
      'NO_BACKSLASH_ESCAPES, HIGH_NOT_PRECEDENCE, EMPTY_STRING_IS_NULL and ORACLE.');
    // Each statement would begin a transaction that nobody ends.
    require(autocommit, 'Its connections begin with autocommit = 0: remove it from init_connect, the server and the data source.');
    require(completion ===
      'NO_CHAIN', `Its connections have completion_type = ${completion}: leave it at NO_CHAIN, its default.`);
    // The server refuses statements at READ COMMITTED.
    require(binlog !== 'STATEMENT', 'Its server has binlog_format = STATEMENT: set MIXED, the default, or ROW.');
    // Another charset would turn the characters that it lacks into "?": different ids would become the same.
    require(charset ===
      'utf8mb4,utf8mb4,utf8mb4', `Its connections have the character sets ${charset}: leave the data source's option "charset" at utf8mb4, its default.`);
  }
}

/**
 * The driver writes a list as values separated by commas. An empty one becomes NULL, which equals nothing, so MariaDB
 * reads no rows; for an empty subquery, it would read the whole table, and an UPDATE would lock it.
 */
function toDriverValue(value: unknown): unknown {
  if (!Array.isArray(value) || value.length > 0) return value ?? null;
  return { toSqlString: () => 'NULL' };
}

export interface MysqlConnection {
  readonly threadId: number;
  readonly stream: Stream;
  /** The statement that is under way; others wait behind it. */
  readonly _command?: unknown;
  on(event: 'error', listener: () => void): void;
}

function mysqlConnectionOf(candidate: unknown): MysqlConnection {
  const connection = candidate as Partial<MysqlConnection>;
  if (typeof connection.stream?.destroy !== 'function' || typeof connection.threadId !== 'number') {
    throw new UndestroyableConnectionError();
  }
  return connection as MysqlConnection;
}
