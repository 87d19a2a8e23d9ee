import type { Database, EnclosingTransaction } from './database.js';
import type { HostTransaction } from './host-transaction.js';
import { OwnTransaction } from './own-transaction.js';

/** The session of a transaction of the host: the transaction itself if its connection is known, or else an id. */
export type HostSession = OwnTransaction | SessionId;

export interface SessionId {
  readonly id: string;
  /** Distinguishes the session from a later one with the same id. */
  readonly mark: string;
  /** Distinguishes the transaction from others of the session, if the server reports it. */
  readonly transaction?: string;
}

/** Both are called once there is a connection on which to end the session. */
export interface EndingOfSession {
  readonly isWanted: () => boolean;
  /** Whether its layer may already be committing or rolling back, or have given the session to somebody else. */
  readonly isEnding: () => boolean;
}

/** Whether a statement was under way in a session that has been ended; `gone` if there was no such session any more. */
export type EndedSession = 'busy' | 'idle' | 'gone';

export interface HostIdentity {
  /** Equal for two connections to the same tables. */
  readonly place: string;
  readonly user: string;
  /** The isolation level as the server names it; empty if the server does not report it. */
  readonly isolation: string;
}

/**
 * Sends what the host's transactions need besides the statements of a delivery, and ends their sessions from outside.
 */
export abstract class HostSessions {
  constructor(readonly database: Database) {}

  /** Asks the transaction which session it is in, unless its connection is known. */
  async begin(within: EnclosingTransaction, unattendedMs: number): Promise<HostSession> {
    return within instanceof OwnTransaction ? within : this.find(within, unattendedMs);
  }

  /** On MariaDB, also lets the server end the transaction if it idles for longer than `unattendedMs`. */
  protected abstract find(transaction: HostTransaction, unattendedMs: number): Promise<SessionId>;

  /** Sends the last statements of the transaction, after the mark and before the COMMIT of its layer. */
  async end(_transaction: HostTransaction): Promise<void> {}

  /**
   * Called in a transaction that must not be committed, before its layer rolls it back.
   * @param _untilQuiet resolves when its handler can send nothing more
   */
  async undo(_transaction: HostTransaction, _untilQuiet: () => Promise<void>): Promise<void> {}

  /** Resolves with `undefined` if the session need no longer be ended. */
  async kill(session: HostSession, { isWanted, isEnding }: EndingOfSession): Promise<EndedSession | undefined> {
    if (!(session instanceof OwnTransaction)) {
      return this.database.holding(async (held) => (isWanted() ? this.killOn(held, session, isEnding()) : undefined));
    }
    const isBusy = this.database.isBusy(session.connection);
    await this.database.destroy(session.connection);
    return isBusy ? 'busy' : 'idle';
  }

  /** @param isEnding whether to end the session only if it is still in that transaction */
  protected abstract killOn(held: OwnTransaction, session: SessionId, isEnding: boolean): Promise<EndedSession>;

  /** @param within default: a connection of our own */
  abstract identify(within?: EnclosingTransaction): Promise<HostIdentity>;
}
