import type { Within } from '../database.js';
import { HostSessions, type EndedSession, type HostIdentity, type SessionId } from '../host-sessions.js';
import type { HostTransaction } from '../host-transaction.js';
import { flag } from '../reading.js';
import type { OwnTransaction } from '../own-transaction.js';
import { rawSql, sql } from '../statement.js';

/** When a session began. Tells it from a later one, since process ids are reused. */
const BEGAN = rawSql('extract(epoch FROM backend_start)::text');
const TRANSACTION_BEGAN = rawSql('extract(epoch FROM xact_start)::text');

export class PostgresHostSessions extends HostSessions {
  /** The view `pg_stat_activity` would read all sessions. */
  protected override async find(transaction: HostTransaction): Promise<SessionId> {
    const [session] = (await this.database.rows<SessionId>(
      sql`SELECT pid::text AS id, ${BEGAN} AS mark, ${TRANSACTION_BEGAN} AS transaction FROM pg_stat_get_activity(pg_backend_pid())`,
      {},
      transaction,
    )) as [SessionId];
    return session;
  }

  override async end(): Promise<void> {
    // COMMIT is its layer's.
  }

  override async undo(): Promise<void> {
    // As is ROLLBACK.
  }

  protected override async killOn(
    held: OwnTransaction,
    { id, mark, transaction = '' }: SessionId,
    isEnding: boolean,
  ): Promise<EndedSession> {
    const [ended] = await this.database.rows<{ busy: boolean; ended: boolean }>(
      sql`SELECT state = 'active' AS busy, pg_terminate_backend(pid) AS ended FROM pg_stat_activity
       WHERE pid = ${id}::int AND ${BEGAN} = ${mark}::text
         AND (NOT ${isEnding}::boolean OR ${TRANSACTION_BEGAN} = ${transaction}::text)`,
      { busy: flag, ended: flag },
      held,
    );
    return ended ? (ended.busy ? 'busy' : 'idle') : 'gone';
  }

  override async identify(within?: Within): Promise<HostIdentity> {
    const [identity] = (await this.database.rows<HostIdentity>(
      sql`SELECT concat_ws(' ', current_database()::text, extract(epoch FROM pg_postmaster_start_time())::text,
           'payment_acceptance.delivery'::regclass::oid::text) AS place,
         current_user::text AS "user", current_setting('transaction_isolation') AS isolation`,
      {},
      within,
    )) as [HostIdentity];
    return identity;
  }
}
