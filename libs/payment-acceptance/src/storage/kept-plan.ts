import { hash } from 'node:crypto';
import { QueryFailedError } from 'typeorm';
import type { Database } from './database.js';

/** The part of `pg`'s client that TypeORM has no way to: a statement with a name. */
interface NamingClient {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/**
 * "There is no such statement", "there is one already", "its plan is of other tables": answers of a pooler that gives each
 * transaction another connection, and of a server whose tables have changed. The statement has not run.
 */
const NOT_KEPT = new Set(['26000', '42P05', '0A000']);

/**
 * One statement whose plan each connection keeps, under a name that follows from its text: whoever has prepared it, it is
 * the same. Where plans cannot be kept it runs without a name from then on, and is planned each time.
 */
export class KeptPlan<Row> {
  private readonly name: string;
  private kept = true;

  constructor(
    private readonly database: Database,
    private readonly text: string,
    private readonly point: string,
  ) {
    this.name = `payment_acceptance_${hash('sha256', text, 'hex').slice(0, 32)}`;
  }

  /** Runs it at READ COMMITTED, and commits. */
  async run(values: unknown[]): Promise<Row[]> {
    // A transaction of its own, for another level than the default one, takes more than planning does.
    if (!this.kept || (await this.database.isolationLevel()) !== undefined)
      return this.database.claim(this.text, values);
    try {
      return await this.runNamed(values);
    } catch (error) {
      if (!isNotKept(error)) throw error;
      this.kept = false;
      return this.database.claim(this.text, values);
    }
  }

  private async runNamed(values: unknown[]): Promise<Row[]> {
    const { dataSource, probe } = this.database;
    const runner = dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as NamingClient;
      dataSource.logger.logQuery(this.text, values, runner);
      probe.reached(`before ${this.point}`);
      const { rows } = await client.query({ name: this.name, text: this.text, values });
      probe.reached(`after ${this.point}`);
      return rows as Row[];
    } catch (error) {
      throw codeOf(error) === undefined ? error : new QueryFailedError(this.text, values, error as Error);
    } finally {
      await runner.release();
    }
  }
}

function isNotKept(error: unknown): boolean {
  return error instanceof QueryFailedError && NOT_KEPT.has(codeOf(error.driverError) ?? '');
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
