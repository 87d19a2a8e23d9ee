import type { Database, Within } from './database.js';
import type { HostTransaction } from './host-transaction.js';
import { OwnTransaction } from './own-transaction.js';

/** A session of the server in which a data layer of the host's has begun a transaction: on a connection that is known, or not. */
export type HostSession = OwnTransaction | SessionId;

export interface SessionId {
  readonly id: string;
  /** Tells it from a later session with the same id. */
  readonly mark: string;
}

/** Which database a connection leads to, and how its transactions begin. */
export interface HostIdentity {
  /** The same for two connections to the same tables. */
  readonly place: string;
  readonly user: string;
  /** In words of the server; empty if it does not tell. */
  readonly isolation: string;
}

/** What is sent in a transaction of the host's beside the statements of a delivery, and how its session is ended from outside. */
export abstract class HostSessions {
  constructor(readonly database: Database) {}

  /** Asks the transaction which session it is in, unless its connection is known. */
  async begin(within: Within, unattendedMs: number): Promise<HostSession> {
    return within instanceof OwnTransaction ? within : this.find(within, unattendedMs);
  }

  /** On MariaDB, the server ends the transaction from then on if it idles for longer than `unattendedMs`. */
  protected abstract find(transaction: HostTransaction, unattendedMs: number): Promise<SessionId>;

  /** Sent last, after the mark. */
  abstract end(transaction: HostTransaction): Promise<void>;

  /** Sent in a transaction that must not be committed, before its layer rolls it back. */
  abstract undo(transaction: HostTransaction): Promise<void>;

  /**
   * Ends the session; resolves with whether a statement was under way, and `undefined` if there is no such session.
   * @param isWanted asked once there is a connection to do it with
   */
  async kill(session: HostSession, isWanted: () => boolean): Promise<boolean | undefined> {
    if (!(session instanceof OwnTransaction)) {
      return this.database.holding(async (held) => (isWanted() ? this.killOn(held, session) : undefined));
    }
    const isBusy = this.database.isBusy(session.connection);
    await this.database.destroy(session.connection);
    return isBusy;
  }

  protected abstract killOn(held: OwnTransaction, session: SessionId): Promise<boolean | undefined>;

  /** @param within default: a connection of our own */
  abstract identify(within?: Within): Promise<HostIdentity>;
}
