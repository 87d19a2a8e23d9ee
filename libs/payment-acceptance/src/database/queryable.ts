import { integer, readRows, type ColumnReaders } from './reading.js';
import { sql, type Statement } from './statement.js';

export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  readonly changed: number;
}

type Template = Parameters<typeof sql>;

/** Executes statements: either a database, which takes any free connection for each, or a transaction. */
export abstract class Queryable {
  /**
   * @param gives which part of the answer the caller reads
   * @param timeoutMs the time limit in milliseconds, if longer than the usual one
   */
  abstract run(statement: Statement, gives: 'rows' | 'count', timeoutMs?: number): Promise<Answer>;

  /** Executes a statement and returns the number of affected rows. */
  async change(...template: Template): Promise<number> {
    return (await this.run(sql(...template), 'count')).changed;
  }

  rows<Row>(readers: ColumnReaders<Row>): (...template: Template) => Promise<Row[]> {
    return async (...template) => readRows((await this.run(sql(...template), 'rows')).rows, readers);
  }

  /** Executes a statement that selects ids, each as `id`. */
  async ids(...template: Template): Promise<string[]> {
    return (await this.rows<{ id: string }>({})(...template)).map(({ id }) => id);
  }

  /** Executes a statement that selects one number, as `count`. */
  async count(...template: Template): Promise<number> {
    const [row] = await this.rows<{ count: number }>({ count: integer })(...template);
    return row?.count ?? 0;
  }

  /** Statements of the result may take this long, in milliseconds. For many rows, when no payment waits. */
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
    return this.inner.run(statement, gives, this.timeoutMs);
  }
}
