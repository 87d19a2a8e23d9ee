import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { Within } from './database.js';
import {
  HandlerIdleError,
  HandlerTransactionEndedError,
  NoConnectionError,
  PaymentTransactionsError,
} from './database.errors.js';
import type { HostIdentity, HostSession, HostSessions } from './host-sessions.js';
import { HostTransaction } from './host-transaction.js';
import type { PaymentTransactions, PaymentTransactionsPool } from './payment-transactions.js';

/** What ends a transaction from outside, and what is sent last. */
export interface TransactionLimits {
  readonly signal: AbortSignal;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs: number;
  /** Called once there is a connection, before any statement of the work. */
  readonly connected?: () => void;
  /** How long the transaction may idle before the server ends it, in milliseconds. */
  readonly unattendedMs: number;
  /** Sends the last statements before COMMIT. If it throws, nothing is committed. */
  readonly finish?: (within: Within) => Promise<void>;
  /** Whether what `finish` has sent is committed. Asked on another connection, where the end of the transaction does not tell. */
  readonly isCommitted?: () => Promise<boolean>;
}

/** The transactions in which handlers run. */
export interface HandlerTransactions {
  /** The connections that they hold. */
  readonly pool: PaymentTransactionsPool;
  /** Verifies that they keep what is promised, before the first one. */
  verify(): Promise<void>;
  /**
   * Runs the work and commits, unless the signal aborts first: then the session is ended at the server, and the transaction is
   * undone.
   * @throws NoConnectionError if there was no connection, so that the work never began
   */
  run(limits: TransactionLimits, work: (within: Within) => Promise<void>): Promise<void>;
}

/** Assumed for a layer that does not tell: the default of most drivers. */
const USUAL_POOL: PaymentTransactionsPool = { size: 10, free: () => 10 };

/** How long a layer may take to notice that its session is gone, in milliseconds. */
const NOTICE_MS = 2_000;

const VERIFY_MS = 10_000;

/**
 * Handlers in transactions that another data layer begins and ends. What it does wrong by itself is made good here: a session
 * that outlives its limit is ended first, and where the end is uncertain, the mark decides.
 */
export class HostTransactions implements HandlerTransactions {
  readonly pool: PaymentTransactionsPool;

  constructor(
    private readonly layer: PaymentTransactions,
    private readonly sessions: HostSessions,
    private readonly warn: (sentence: string) => void,
  ) {
    this.pool = layer.pool ?? USUAL_POOL;
  }

  async verify(): Promise<void> {
    const ours = await this.sessions.identify();
    let theirs: HostIdentity;
    try {
      const identified = this.layer.run((tx) => this.sessions.identify(new HostTransaction(this.layer, tx)), {
        signal: AbortSignal.timeout(VERIFY_MS),
        timeoutMs: VERIFY_MS,
      });
      theirs = await withTimeout(VERIFY_MS, identified);
    } catch (error) {
      throw PaymentTransactionsError.unusable(error);
    }
    if (theirs.place !== ours.place) throw PaymentTransactionsError.elsewhere();
    if (theirs.isolation !== '' && theirs.isolation !== 'read committed') {
      throw PaymentTransactionsError.isolated(theirs.isolation);
    }
    if (theirs.user === ours.user) return;
    this.warn(
      `The transactions of the option "transactions" run as "${theirs.user}", those of the module as "${ours.user}". Unless the ` +
        'latter may end sessions of the former, a handler past its time limit keeps its connection until its statement ends.',
    );
  }

  async run(limits: TransactionLimits, work: (within: Within) => Promise<void>): Promise<void> {
    limits.signal.throwIfAborted();
    await new HostAttempt(this.layer, this.sessions, limits).run(work);
  }
}

/** One such transaction. */
class HostAttempt {
  private session: HostSession | undefined;
  /** Set once it must not be committed any more; resolves with the reason when its session has ended. */
  private refusal: Promise<Error> | undefined;
  /** What was thrown in it first. What the layer rejects with may be about its rollback. */
  private thrown: { readonly error: unknown } | undefined;
  private isConnected = false;
  private hasBegun = false;
  private isInsideOver = false;
  private mayBeCommitted = false;
  /** Whether the layer is done with its session, which may serve somebody else by now. */
  private isReleased = false;
  /** Rejects once its session has ended: a handler that never settles must not keep its connection. */
  private readonly refused: Promise<never>;
  private reject: (reason: Error) => void = () => undefined;

  constructor(
    private readonly layer: PaymentTransactions,
    private readonly sessions: HostSessions,
    private readonly limits: TransactionLimits,
  ) {
    this.refused = new Promise((_resolve, reject) => (this.reject = reject));
    this.refused.catch(() => undefined);
  }

  async run(work: (within: Within) => Promise<void>): Promise<void> {
    const { signal, connectMs, unattendedMs, isCommitted } = this.limits;
    const timeoutMs = connectMs + unattendedMs;
    const inside = (tx: unknown): Promise<void> => this.inside(new HostTransaction(this.layer, tx), work);
    const running = Promise.resolve()
      .then(() => this.layer.run(inside, { signal, timeoutMs }))
      .finally(() => (this.isReleased = true));
    let failure = await this.awaitWithTimeout(running).then(
      () => undefined,
      (error: unknown) => this.thrown ?? { error },
    );
    if (this.refusal) failure = { error: await this.refusal };
    // A layer may hide a failed COMMIT, or reject after one that succeeded.
    if (this.mayBeCommitted && isCommitted) {
      if (await isCommitted()) return;
      throw failure ? failure.error : PaymentTransactionsError.uncommitted();
    }
    // The handler has ended the transaction as its layer does, and may still be at work.
    if (!failure && this.session && !this.isInsideOver) {
      const ended = new HandlerTransactionEndedError();
      this.refusal ??= Promise.resolve(ended);
      this.reject(ended);
      throw ended;
    }
    if (failure) throw this.hasBegun ? failure.error : new NoConnectionError(failure.error, this.isConnected);
    if (!this.session) throw PaymentTransactionsError.unusable(new Error('It resolved without calling its work.'));
  }

  private async inside(transaction: HostTransaction, work: (within: Within) => Promise<void>): Promise<void> {
    const { connected, finish, unattendedMs } = this.limits;
    try {
      await this.check();
      this.isConnected = true;
      this.session = await this.sessions.begin(transaction, unattendedMs);
      await this.check();
      connected?.();
      this.hasBegun = true;
      await Promise.race([work(transaction), this.refused]);
      await this.check();
      this.mayBeCommitted = true;
      await finish?.(transaction);
      await this.sessions.end(transaction);
      // The session goes back to its pool now, and must not be ended there.
      await this.refusal;
    } catch (error) {
      this.thrown ??= { error };
      await this.refusal;
      // A session that cannot be put in order must not go back to its pool.
      if (!this.isReleased) await this.sessions.undo(transaction).catch(() => this.kill());
      throw error;
    } finally {
      this.isInsideOver = true;
    }
  }

  private async check(): Promise<void> {
    if (this.refusal) throw await this.refusal;
  }

  /** Resolves or rejects as the layer does, and at the limit at the latest. */
  private async awaitWithTimeout(running: Promise<void>): Promise<void> {
    const { signal, connectMs } = this.limits;
    let connecting: NodeJS.Timeout | undefined;
    let onAbort = (): void => undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      const refuse = (reason: Error): void => {
        this.refusal ??= this.end(reason);
        void this.refusal.then((ended) => this.reject(ended));
        void this.refusal.then(() => withTimeout(NOTICE_MS, running).catch(() => undefined)).then(() => reject(reason));
      };
      const late = (): void => {
        if (!this.session) refuse(new TimeoutError(`The data layer had no free connection within ${connectMs} ms.`));
      };
      onAbort = () => refuse(signal.reason as Error);
      connecting = setTimeout(late, connectMs);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      await Promise.race([running, ended]);
    } finally {
      clearTimeout(connecting);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the session before anybody learns of the limit: a handler that is refused while its session lives could still write. */
  private async end(reason: Error): Promise<Error> {
    return (await this.kill()) === false ? new HandlerIdleError(reason) : reason;
  }

  /** Resolves with whether a statement was under way. */
  private async kill(): Promise<boolean | undefined> {
    if (!this.session) return undefined;
    // One that waits for a connection for too long is given up: by then the session may serve somebody else.
    let isWanted = true;
    const killed = this.sessions.kill(this.session, () => isWanted && !this.isReleased);
    return withTimeout(NOTICE_MS, killed)
      .catch(() => undefined)
      .finally(() => (isWanted = false));
  }
}
