import type { EnclosingTransaction } from '../database.js';
import { HostSessions, type EndedSession, type HostIdentity, type SessionId } from '../host-sessions.js';
import type { HostTransaction } from '../host-transaction.js';
import { flag } from '../reading.js';
import type { OwnTransaction } from '../own-transaction.js';
import { rawSql } from '../statement.js';
import { idleTimeoutSettings } from './maria.database.js';

/**
 * Autocommit is off during the transaction: otherwise, after a deadlock whose error the handler has caught, the
 * handler's further statements would commit one by one. Switching autocommit on again commits.
 */
export class MariaHostSessions extends HostSessions {
  protected override async find(transaction: HostTransaction, unattendedMs: number): Promise<SessionId> {
    const [session] = (await transaction.rows<SessionId>({})`
      SELECT CAST(ID AS CHAR) AS id, HOST AS mark FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()`) as [
      SessionId,
    ];
    await transaction.change`${rawSql(`SET ${idleTimeoutSettings(unattendedMs).before}, autocommit = 0`)}`;
    return session;
  }

  override async end(transaction: HostTransaction): Promise<void> {
    await transaction.change`${rawSql(`SET autocommit = 1, ${idleTimeoutSettings(0).after}`)}`;
  }

  override async undo(transaction: HostTransaction, untilQuiet: () => Promise<void>): Promise<void> {
    // What the handler sends after the ROLLBACK would be committed.
    await untilQuiet();
    await transaction.change`ROLLBACK`;
    await this.end(transaction);
  }

  protected override async killOn(
    held: OwnTransaction,
    { id, mark }: SessionId,
    isEnding: boolean,
  ): Promise<EndedSession> {
    // `end` or `undo` has already ended the transaction, so the layer's COMMIT or ROLLBACK waits for nothing.
    if (isEnding) return 'gone';
    const [session] = await held.rows<{ busy: boolean }>({ busy: flag })`
      SELECT COMMAND <> 'Sleep' AS busy FROM information_schema.PROCESSLIST WHERE ID = ${id} AND HOST = ${mark}`;
    if (session) await held.change`KILL CONNECTION ${rawSql(String(Number(id)))}`;
    return session ? (session.busy ? 'busy' : 'idle') : 'gone';
  }

  override async identify(within?: EnclosingTransaction): Promise<HostIdentity> {
    const [identity] = (await (within ?? this.database).rows<HostIdentity>({})`
      SELECT CONCAT_WS(' ', @@hostname, @@port, DATABASE(), (SELECT COUNT(*) FROM payment_acceptance.delivery WHERE id = 0)) AS place,
      CURRENT_USER() AS user, '' AS isolation`) as [HostIdentity];
    return identity;
  }
}
