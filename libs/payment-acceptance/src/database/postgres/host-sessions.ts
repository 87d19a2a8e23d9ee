import type { EnclosingTransaction } from '../database.js';
import { HostSessions, type EndedSession, type HostIdentity, type SessionId } from '../host-sessions.js';
import type { HostTransaction } from '../host-transaction.js';
import { flag } from '../reading.js';
import type { OwnTransaction } from '../own-transaction.js';
import { rawSql } from '../statement.js';

/** When a session began. Distinguishes it from a later one, since process ids are reused. */
const SESSION_START = rawSql('extract(epoch FROM backend_start)::text');
const TRANSACTION_START = rawSql('extract(epoch FROM xact_start)::text');

export class PostgresHostSessions extends HostSessions {
  /** Reads only its own session: the view `pg_stat_activity` would read all of them. */
  protected override async find(transaction: HostTransaction): Promise<SessionId> {
    const [session] = (await transaction.rows<SessionId>({})`
      SELECT pid::text AS id, ${SESSION_START} AS mark, ${TRANSACTION_START} AS transaction FROM pg_stat_get_activity(pg_backend_pid())`) as [
      SessionId,
    ];
    return session;
  }

  protected override async killOn(
    held: OwnTransaction,
    { id, mark, transaction = '' }: SessionId,
    isEnding: boolean,
  ): Promise<EndedSession> {
    const [ended] = await held.rows<{ busy: boolean; ended: boolean }>({ busy: flag, ended: flag })`
      SELECT state = 'active' AS busy, pg_terminate_backend(pid) AS ended FROM pg_stat_activity
      WHERE pid = ${id}::int AND ${SESSION_START} = ${mark}::text
        AND (NOT ${isEnding}::boolean OR ${TRANSACTION_START} = ${transaction}::text)`;
    return ended ? (ended.busy ? 'busy' : 'idle') : 'gone';
  }

  override async identify(within?: EnclosingTransaction): Promise<HostIdentity> {
    const [identity] = (await (within ?? this.database).rows<HostIdentity>({})`
      SELECT concat_ws(' ', current_database()::text, extract(epoch FROM pg_postmaster_start_time())::text,
        'payment_acceptance.delivery'::regclass::oid::text) AS place,
      current_user::text AS "user", current_setting('transaction_isolation') AS isolation`) as [HostIdentity];
    return identity;
  }
}
