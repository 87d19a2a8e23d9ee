import { hash } from 'node:crypto';
import { describeError } from '../../common/errors.js';
import { memoize } from '../../common/memoize.js';
import { PaymentLogger } from '../../common/payment-logger.js';
import type { Connection } from '../connection-source.js';
import { errorCode } from '../query-errors.js';
import { runOnClient, type PgResult } from './pg-query.js';

/**
 * "No such statement", "statement already exists", "cached plan must not change result type": errors behind a pooler in
 * transaction mode, or after the tables were changed. The statement was not executed.
 */
const LOST_STATEMENT_CODES = new Set<unknown>(['26000', '42P05', '0A000']);

/**
 * A plan fits the sizes that the tables had when it was made; a plan for small tables must not stay when they grow
 * quickly, as on a connection opened by the first of many postbacks. So a connection discards its plans whenever its
 * age has doubled: first after `MIN_RENEWAL_MS`, and at least every `MAX_RENEWAL_MS`.
 */
const MAX_RENEWAL_MS = 30_000;
const MIN_RENEWAL_MS = 500;

/** The connection cannot keep plans. The statement was not executed, and no further statement is prepared. */
export class PreparedStatementsUnavailableError extends Error {
  override readonly name = 'PreparedStatementsUnavailableError';
}

/**
 * Prepared statements, whose plans each connection keeps: parsing and planning them would take the server longer than
 * executing them. Their names are derived from their text, so instances that share a connection agree.
 */
export class PreparedStatements {
  /** Whether connections keep prepared statements, as far as we know. */
  areUsable = true;
  private readonly nameOf = memoize((text) => `payment_acceptance_${hash('sha256', text, 'hex').slice(0, 32)}`);
  /** When each connection was first used, and when its plans were last discarded. */
  private readonly ages = new WeakMap<object, { readonly first: number; renewed: number }>();
  private readonly logger = new PaymentLogger('PaymentDatabase');

  /** @throws PreparedStatementsUnavailableError, which also fails the transaction, if there is one */
  async run(client: Connection, text: string, values: readonly unknown[]): Promise<PgResult['rows']> {
    try {
      this.renew(client);
      const named = { name: this.nameOf(text), text, values };
      return (await runOnClient(client, named)).rows;
    } catch (error) {
      if (!LOST_STATEMENT_CODES.has(errorCode(error))) throw error;
      this.giveUp(error as Error);
      throw new PreparedStatementsUnavailableError('The connection keeps no plans.', { cause: error });
    }
  }

  private giveUp(error: Error): void {
    if (!this.areUsable) return;
    this.areUsable = false;
    this.logger.write(
      'statements-unprepared',
      'A connection to PostgreSQL lost a prepared statement (a pooler that shares connections, or DEALLOCATE ALL), so ' +
        `this instance no longer prepares statements. Planning each one takes the database more time. ${describeError(error)}`,
    );
  }

  /** Does not wait, so that statements are sent in the order of the calls. */
  private renew(client: object): void {
    const now = performance.now();
    const age = this.ages.get(client);
    if (!age) {
      this.ages.set(client, { first: now, renewed: now });
      return;
    }
    if (now - age.renewed < Math.min(MAX_RENEWAL_MS, Math.max(MIN_RENEWAL_MS, age.renewed - age.first))) return;
    age.renewed = now;
    // On a connection where this fails, the statement behind it fails, too.
    runOnClient(client, { text: 'DISCARD PLANS', values: [] }).catch(() => undefined);
  }
}
