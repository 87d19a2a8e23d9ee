import { readRows, type ColumnReaders } from './reading.js';
import { sql, type Statement } from './statement.js';

/** A driver's answer. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows INSERT, UPDATE or DELETE has affected. */
  readonly changed: number;
}

/** The text of a statement, as {@link sql} takes it. */
type Template = Parameters<typeof sql>;

/** Takes statements: a database, each on whatever connection is free, or a transaction. */
export abstract class Queryable {
  /** @param gives what the caller reads of the answer */
  abstract run(statement: Statement, gives: 'rows' | 'count'): Promise<Answer>;

  /** Executes a statement and returns the number of affected rows. */
  async change(...template: Template): Promise<number> {
    return (await this.run(sql(...template), 'count')).changed;
  }

  /** Executes a statement and returns its rows. */
  rows<Row>(readers: ColumnReaders<Row>): (...template: Template) => Promise<Row[]> {
    return async (...template) => readRows((await this.run(sql(...template), 'rows')).rows, readers);
  }

  /** For reading or changing many rows when no payment waits: statements may take this long, in milliseconds. */
  withTimeout(timeoutMs: number): Queryable {
    return new PatientQueryable(this, timeoutMs);
  }
}

class PatientQueryable extends Queryable {
  constructor(
    private readonly inner: Queryable,
    private readonly timeoutMs: number,
  ) {
    super();
  }

  override run(statement: Statement, gives: 'rows' | 'count'): Promise<Answer> {
    return this.inner.run(statement.withTimeout(this.timeoutMs), gives);
  }
}
