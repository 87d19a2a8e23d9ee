import { Logger } from '@nestjs/common';
import { hash } from 'node:crypto';
import { QueryFailedError, type DataSource, type QueryRunner } from 'typeorm';
import { memoize } from '../../common/memoize.js';

/** The parts of `pg`'s client that TypeORM has no way to: a statement with a name. */
interface NamingClient {
  query(statement: string): Promise<unknown>;
  query(
    statement: { name: string; text: string; values: unknown[] },
    done: (error: Error | null, result: { rows: unknown[] }) => void,
  ): unknown;
}

/**
 * "There is no such statement", "there is one already", "its plan is of other tables": answers of a pooler that gives each
 * transaction another connection, and of a server whose tables have changed. The statement has not run.
 */
const NOT_KEPT = new Set(['26000', '42P05', '0A000']);

/**
 * A plan is made for tables of the size that they have: where they grow faster than the server looks at them, one that was
 * right when they were small must not stay. So a connection makes its plans anew when it has kept them as long as it did
 * without, first after `LEAST_MS`: one that is opened for the first postbacks of many has read an empty table.
 */
const RENEW_MS = 30_000;
const MIN_RENEWAL_MS = 500;

/** The connection cannot keep plans; the statement has not run, and none is named any more. */
export class PreparedStatementsUnavailableError extends Error {
  override readonly name = 'PreparedStatementsUnavailableError';
}

/**
 * Statements whose plans each connection keeps, under names that follow from their text: whoever has prepared one, it is the
 * same. Reading and planning them takes the server longer than doing them.
 */
export class PreparedStatements {
  /** Whether connections keep them, as far as is known. */
  areUsable = true;
  private readonly nameOf = memoize((text) => `payment_acceptance_${hash('sha256', text, 'hex').slice(0, 32)}`);
  /** When each connection was used first, and when it has made its plans. */
  private readonly ages = new WeakMap<object, { readonly first: number; renewed: number }>();
  private readonly warner = new Logger('PaymentAcceptance');

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a statement on the runner's connection, inside its transaction if there is one. It does not pass the runner's own
   * `query`, which has no way to a name: whoever calls it awaits it before the transaction ends.
   * @throws PreparedStatementsUnavailableError; in a transaction that has ended it
   */
  async run<Row>(runner: QueryRunner, text: string, values: unknown[]): Promise<Row[]> {
    if (runner.isReleased) throw new Error('The connection of this statement has been given back.');
    const client = (await runner.connect()) as NamingClient;
    const { logger } = this.dataSource;
    logger.logQuery(text, values, runner);
    try {
      await this.renew(client);
      return (await runNamed(client, this.nameOf(text), text, values)) as Row[];
    } catch (error) {
      const code = codeOf(error);
      if (code !== undefined && NOT_KEPT.has(code)) {
        this.giveUp(error as Error);
        throw new PreparedStatementsUnavailableError('The connection keeps no plans.', { cause: error });
      }
      logger.logQueryError(error as Error, text, values, runner);
      throw code === undefined ? error : new QueryFailedError(text, values, error as Error);
    }
  }

  private giveUp(error: Error): void {
    if (!this.areUsable) return;
    this.areUsable = false;
    this.warner.warn(
      'A connection to PostgreSQL has lost a prepared statement (a pooler that shares connections, a DEALLOCATE ALL), so ' +
        `this instance prepares none any more: each is planned anew, which takes the database more time. ${error.message}`,
    );
  }

  private async renew(client: NamingClient): Promise<void> {
    const now = performance.now();
    const age = this.ages.get(client);
    if (!age) {
      this.ages.set(client, { first: now, renewed: now });
      return;
    }
    if (now - age.renewed < Math.min(RENEW_MS, Math.max(MIN_RENEWAL_MS, age.renewed - age.first))) return;
    age.renewed = now;
    await client.query('DISCARD PLANS');
  }
}

/**
 * Not by the promise that `pg` can give: after that each statement holds on to the next, and so its parameters and all that
 * waits for it to memory, until that is searched through as a whole.
 */
function runNamed(client: NamingClient, name: string, text: string, values: unknown[]): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const sent = client.query({ name, text, values }, (error, result) =>
      error ? reject(error) : resolve(result.rows),
    );
    // A client that a host has wrapped may give a promise all the same, and fail before the statement is sent.
    if (sent instanceof Promise) sent.then((result?: { rows: unknown[] }) => result && resolve(result.rows), reject);
  });
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}
