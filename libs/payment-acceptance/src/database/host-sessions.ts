import type { Database } from './database.js';
import type { HostTransaction } from './host-transaction.js';
import type { OwnTransaction } from './own-transaction.js';

/** A session of the server in which a data layer of the host's has begun a transaction. */
export interface HostSession {
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
  constructor(protected readonly database: Database) {}

  /** Sent first. The server ends the transaction if it idles for longer than `unattendedMs`. */
  abstract begin(transaction: HostTransaction, unattendedMs: number): Promise<HostSession>;

  /** Sent last, after the mark. */
  abstract end(transaction: HostTransaction): Promise<void>;

  /** Sent in a transaction that must not be committed, before its layer rolls it back. */
  abstract undo(transaction: HostTransaction): Promise<void>;

  /**
   * Ends the session; resolves with whether a statement was under way, and `undefined` if there is no such session.
   * @param isWanted asked once there is a connection to do it with
   */
  kill(session: HostSession, isWanted: () => boolean): Promise<boolean | undefined> {
    return this.database.holding(async (held) => (isWanted() ? this.killOn(held, session) : undefined));
  }

  protected abstract killOn(held: OwnTransaction, session: HostSession): Promise<boolean | undefined>;

  /** @param transaction default: a connection of our own */
  abstract identify(transaction?: HostTransaction): Promise<HostIdentity>;
}
