import { Injectable } from '@nestjs/common';
import { HostSessions, type HostIdentity, type HostSession } from '../host-sessions.js';
import type { HostTransaction } from '../host-transaction.js';
import { flag } from '../reading.js';
import type { OwnTransaction } from '../own-transaction.js';
import { rawSql, sql } from '../statement.js';
import { MAX_UNATTENDED_MS } from './postgres.database.js';

/** When a session began. Tells it from a later one, since process ids are reused. */
const BEGAN = rawSql('extract(epoch FROM backend_start)::text');

@Injectable()
export class PostgresHostSessions extends HostSessions {
  override async begin(transaction: HostTransaction, unattendedMs: number): Promise<HostSession> {
    const [session] = (await this.database.rows<HostSession>(
      sql`SELECT pg_backend_pid()::text AS id, (SELECT ${BEGAN} FROM pg_stat_activity WHERE pid = pg_backend_pid()) AS mark,
         set_config('idle_in_transaction_session_timeout', ${String(Math.min(Math.ceil(unattendedMs), MAX_UNATTENDED_MS))}::text, true) AS idle`,
      {},
      transaction,
    )) as [HostSession];
    return session;
  }

  override async end(): Promise<void> {
    // COMMIT is its layer's.
  }

  override async undo(): Promise<void> {
    // As is ROLLBACK.
  }

  protected override async killOn(held: OwnTransaction, { id, mark }: HostSession): Promise<boolean | undefined> {
    const [ended] = await this.database.rows<{ busy: boolean; ended: boolean }>(
      sql`SELECT state = 'active' AS busy, pg_terminate_backend(pid) AS ended FROM pg_stat_activity
       WHERE pid = ${id}::int AND ${BEGAN} = ${mark}::text`,
      { busy: flag, ended: flag },
      held,
    );
    return ended?.busy;
  }

  override async identify(transaction?: HostTransaction): Promise<HostIdentity> {
    const [identity] = (await this.database.rows<HostIdentity>(
      sql`SELECT concat_ws(' ', current_database()::text, extract(epoch FROM pg_postmaster_start_time())::text,
           'payment_acceptance.delivery'::regclass::oid::text) AS place,
         current_user::text AS "user", current_setting('transaction_isolation') AS isolation`,
      {},
      transaction,
    )) as [HostIdentity];
    return identity;
  }
}
