import type { EntityManager, QueryRunner } from 'typeorm';
import { memoize } from '../../common/memoize.js';
import { Database, isConflict, type Answer } from '../database.js';
import { closeNow } from '../pg-connection.js';
import { constant, sql } from '../statement.js';
import { UnsupportedDataSourceError } from '../storage.errors.js';
import type { TransactionOptions } from '../transaction.js';
import { mariadb } from './dialect.js';
import { mysqlConnectionOf } from './mysql-connection.js';
import { spell } from './spelling.js';

/** SQL in the place of a parameter. */
export interface Raw {
  toSqlString(): string;
}

/** Columns that are true or false; MariaDB gives 1 and 0. */
const BOOLEANS = new Set(
  'exists leaseEnded payerPaysCommission customGiven scheduled shopRefused due late rivalled refused enough repeated'.split(
    ' ',
  ),
);
/** Counts whose statement does not say so beside their name. */
const COUNTS = new Set('SUCCESS FAIL bills waiting'.split(' '));
/** Statements whose spelling is kept: all but a few that are put together. */
const KEPT = 500;
const ATTEMPTS = 4;

/**
 * A data source on MariaDB, through the driver `mysql2`. Statements are spelled for it ({@link spell}); transactions
 * are at READ COMMITTED, since at MariaDB's default a claim's gaps block every insert beside it. A statement on its own
 * that loses a deadlock was rolled back whole, and is done again.
 */
export class MariaDatabase extends Database {
  override readonly dialect = mariadb;
  private readonly spellingOf = memoize(spell, KEPT);

  protected override async send<Row>(sql: string, parameters: unknown[], manager: EntityManager): Promise<Row[]> {
    const { text, order, counts } = this.spellingOf(sql);
    const { rows, changed } = await this.answer(
      text,
      order.map((index) => parameters[index]),
      manager,
    );
    if (rows.length > 0) return rows.map((row) => typed(row, counts) as Row);
    // As many rows as UPDATE … RETURNING would give; each of ours changes what it finds.
    return Array.from({ length: changed }, () => ({}) as Row);
  }

  /** Tables are named without the schema that they have on PostgreSQL. */
  protected override async answer(text: string, values: readonly unknown[], manager: EntityManager): Promise<Answer> {
    const [statement, parameters] = [text.replaceAll('payment_acceptance.', 'payment_acceptance_'), values.map(given)];
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result: unknown = await manager.query(statement, parameters);
        if (Array.isArray(result)) return { rows: result as Record<string, unknown>[], changed: 0 };
        return { rows: [], changed: (result as { affectedRows?: number }).affectedRows ?? 0 };
      } catch (error) {
        if (manager !== this.dataSource.manager || attempt >= ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /** MariaDB keeps no plans: it makes one for each execution of a prepared statement, too. */
  protected override sendPrepared<Row>(sql: string, parameters: unknown[], manager: EntityManager): Promise<Row[]> {
    return this.send(sql, parameters, manager);
  }

  override atReadCommitted<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.transaction((manager) => this.query<Row>(sql, parameters, manager));
  }

  /** Of the session, so it gets back what the host has given it. */
  override endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'after'> {
    const seconds = Math.ceil(unattendedMs / 1_000);
    return {
      before: `SET @payment_acceptance_idle = @@SESSION.idle_transaction_timeout, SESSION idle_transaction_timeout = ${seconds}`,
      after: 'SET SESSION idle_transaction_timeout = @payment_acceptance_idle',
    };
  }

  override verifyDestroyable(connection: unknown): void {
    mysqlConnectionOf(connection);
  }

  override async destroy(_runner: QueryRunner, connection: unknown): Promise<void> {
    const mysql = mysqlConnectionOf(connection);
    const lost = mysql.stream.destroyed;
    // The pool's own listener hears the first error only; nobody else would hear a second.
    mysql.on('error', () => undefined);
    const closed = closeNow(mysql.stream);
    // The server goes on with a running query, and keeps its locks, until it is told to end.
    const killed = lost ? undefined : this.query(`KILL CONNECTION ${mysql.threadId}`, []).catch(() => undefined);
    await Promise.all([closed, killed]);
  }

  /** Asked for each time: a session's default says nothing of those of the pool's other connections. */
  override isolationLevel(): Promise<'READ COMMITTED'> {
    return Promise.resolve('READ COMMITTED');
  }

  /** The present moment for rows given as one parameter, some microseconds later where they must keep an order. */
  now(laterMicros = 0): Raw {
    const micros = Math.round(this.offsetMs * 1000) + laterMicros;
    return { toSqlString: () => `UTC_TIMESTAMP(6) + INTERVAL ${micros} MICROSECOND` };
  }

  /**
   * Locks those of the rows that nobody else has locked and that still meet the condition; gives their keys in the order
   * in which they were given.
   */
  async lockFree(
    manager: EntityManager,
    table: string,
    ids: readonly string[],
    condition: string,
    parameters: readonly unknown[] = [],
  ): Promise<string[]> {
    if (ids.length === 0) return [];
    const list = `$${parameters.length + 2}`;
    const rows = await this.query<{ id: string }>(
      `SELECT t.id::text AS id FROM payment_acceptance.${table} t FORCE INDEX (PRIMARY)
       WHERE t.id IN (${list}) AND ${condition} FOR UPDATE SKIP LOCKED`,
      [this.offsetMs, ...parameters, ids],
      manager,
    );
    const locked = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => locked.has(id));
  }

  /**
   * Deletes rows that are locked; gives their number. In the order of their keys: on another way through a small table
   * DELETE, unlike UPDATE, would wait for every locked row that it passes.
   */
  remove(manager: EntityManager, table: string, ids: readonly string[]): Promise<number> {
    return this.change(
      sql`DELETE FROM payment_acceptance.${constant(table)} WHERE id IN (${ids}) ORDER BY id LIMIT ${ids.length}`,
      manager,
    );
  }

  /** @throws UnsupportedDataSourceError where the server or its mode would do something else than our statements say. */
  async verify(): Promise<void> {
    const { type } = this.dataSource.options;
    const [server] = await this.query<{ version: string; mode: string }>(
      `SELECT VERSION() AS version, @@SESSION.sql_mode AS mode`,
      [],
    );
    const { version = '', mode = '' } = server ?? {};
    const [, major, minor] = /(\d+)\.(\d+)\.\d+-MariaDB/i.exec(version) ?? [];
    if (major === undefined || Number(major) * 100 + Number(minor) < 1006) {
      throw new UnsupportedDataSourceError(type, `Its server is "${version}", and MariaDB 10.6 or newer is needed.`);
    }
    if (!/STRICT_(TRANS|ALL)_TABLES/.test(mode) || /NO_BACKSLASH_ESCAPES|PIPES_AS_CONCAT|ANSI|ORACLE/.test(mode)) {
      throw new UnsupportedDataSourceError(
        type,
        `Its sql_mode is "${mode}": it must have STRICT_TRANS_TABLES, and none of ANSI, ANSI_QUOTES, PIPES_AS_CONCAT, ` +
          'NO_BACKSLASH_ESCAPES and ORACLE.',
      );
    }
  }
}

/** An empty list has no spelling of its own. */
function given(value: unknown): unknown {
  if (!Array.isArray(value) || value.length > 0) return value ?? null;
  return { toSqlString: () => 'SELECT NULL FROM DUAL WHERE FALSE' } satisfies Raw;
}

function typed(row: Record<string, unknown>, counts: ReadonlySet<string>): unknown {
  for (const [name, value] of Object.entries(row)) {
    if (value === null) continue;
    if (counts.has(name) || COUNTS.has(name)) row[name] = Number(value);
    else if (BOOLEANS.has(name)) row[name] = Number(value) === 1;
  }
  return row;
}
