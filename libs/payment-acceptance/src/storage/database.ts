import { QueryFailedError, type DataSource, type EntityManager } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { UnsupportedDataSourceError } from './storage.errors.js';

/** SQL for the present moment on the database's clock; `$1` of the statement is `Database.offsetMs`. */
export const NOW = `(now() + $1::double precision * interval '1 millisecond')`;

/** SQL that adds whole milliseconds, given as an expression, to the present moment. */
export function inMs(expression: string): string {
  return `(${NOW} + (${expression})::double precision * interval '1 millisecond')`;
}

/** SQL that reads an instant as epoch milliseconds in text: independent of the host's type parsers. */
export function epochMs(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::bigint::text`;
}

/** SQL for an instant as ISO 8601 in UTC, made by the database, so that no type parser of the host has a say. */
export function iso(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** A row whose instants are still text, as `epochMs` selects them. */
export type Texts<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]: string | Extract<T[P], null> };

/** An instant as `epochMs` reads it. */
export function instant(text: string): Date;
export function instant(text: string | null): Date | null;
export function instant(text: string | null): Date | null {
  return text === null ? null : new Date(Number(text));
}

interface PgPool {
  on(event: 'connect', listener: (client: PgEvents) => void): void;
}

interface PgEvents {
  on(event: 'error', listener: () => void): void;
}

/**
 * Between a connection's first answer and the listener that TypeORM adds to it, nobody hears its errors: one that the
 * server ends in that moment (a restart, an administrator) would end the whole process. Whoever uses it learns of the end
 * all the same, from the query that fails.
 */
function guardNewConnections(dataSource: DataSource): void {
  const { master } = dataSource.driver as { master?: PgPool };
  master?.on('connect', (client) => client.on('error', () => undefined));
}

/** How often a transaction is tried that conflicts with others. */
const TRANSACTION_ATTEMPTS = 4;

function isConflict(error: unknown): boolean {
  const code = error instanceof QueryFailedError && (error.driverError as { code?: unknown }).code;
  return code === '40001' || code === '40P01';
}

/** Verb and table of a statement, for the probe. */
function statementName(sql: string): string {
  const verb = /\b(INSERT|UPDATE|DELETE|SELECT)\b/.exec(sql)?.[1] ?? sql.slice(0, 20);
  const written = /(?:INTO|UPDATE)\s+(payment_acceptance\.\w+)/.exec(sql)?.[1];
  return `${written ? (verb === 'SELECT' ? 'UPDATE' : verb) : verb} ${written ?? /payment_acceptance\.\w+/.exec(sql)?.[0] ?? ''}`.trim();
}

/** Whether the error says that a row with the same unique key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof QueryFailedError && (error.driverError as { code?: unknown }).code === '23505';
}

/**
 * The host's data source, as our statements use it. Every value that matters is selected as text, so that type parsers
 * of the host (numeric as a float, say) never touch it.
 */
export class Database {
  private readonly names = new Map<string, string>();
  private readCommitted: boolean | undefined;

  constructor(
    readonly dataSource: DataSource,
    private readonly clock: PaymentClock,
    private readonly probe: PaymentProbe = new PaymentProbe(),
  ) {
    if (dataSource.options.type !== 'postgres') throw new UnsupportedDataSourceError(dataSource.options.type);
    guardNewConnections(dataSource);
  }

  /** First parameter of every statement that says {@link NOW}. */
  get offsetMs(): number {
    return this.clock.offsetMs;
  }

  /** Runs one statement and gives its rows, also those of UPDATE … RETURNING, which TypeORM nests. */
  async query<Row>(
    sql: string,
    parameters: unknown[],
    manager: EntityManager = this.dataSource.manager,
  ): Promise<Row[]> {
    const name = this.nameOf(sql);
    this.probe.reached(`before ${name}`);
    const result: unknown = await manager.query(sql, parameters);
    this.probe.reached(`after ${name}`);
    if (!Array.isArray(result)) return [];
    const rows: unknown[] = result.length === 2 && Array.isArray(result[0]) ? result[0] : result;
    return rows as Row[];
  }

  /**
   * One statement at READ COMMITTED, whatever the database's own default is: claims skip rows that another instance has
   * just taken, where a stricter level would fail.
   */
  async claim<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    this.readCommitted ??= await this.isReadCommitted();
    if (this.readCommitted) return this.query<Row>(sql, parameters);
    return this.transaction((manager) => this.query<Row>(sql, parameters, manager));
  }

  /**
   * One transaction at READ COMMITTED: what SKIP LOCKED and re-reading under a lock are right at. Work that the database
   * gave up for another's sake (deadlock, serialization failure) was rolled back whole, and is done again.
   */
  async transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await this.dataSource.transaction('READ COMMITTED', work);
        this.probe.reached('after COMMIT');
        return result;
      } catch (error) {
        if (attempt >= TRANSACTION_ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /** Statements are few and come again and again: each is named once. */
  private nameOf(sql: string): string {
    const name = this.names.get(sql) ?? statementName(sql);
    this.names.set(sql, name);
    return name;
  }

  private async isReadCommitted(): Promise<boolean> {
    const [row] = await this.query<{ level: string }>(
      `SELECT current_setting('default_transaction_isolation') AS level`,
      [],
    );
    return row?.level === 'read committed';
  }
}
