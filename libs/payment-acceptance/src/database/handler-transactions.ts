import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { Database, EnclosingTransaction } from './database.js';
import {
  HandlerIdleError,
  HandlerTransactionEndedError,
  NoConnectionError,
  PaymentTransactionsError,
  UndestroyableConnectionError,
} from './database.errors.js';
import type { EndedSession, HostIdentity, HostSession, HostSessions } from './host-sessions.js';
import { HostTransaction } from './host-transaction.js';
import { OwnTransaction } from './own-transaction.js';
import { isOfDriver, type PaymentTransactions, type PaymentTransactionsPool } from './payment-transactions.js';
import type { DataSource } from 'typeorm';

export const HOST = Symbol.for('nestjs-payment-acceptance/host');

export interface Host {
  /** Its TypeORM data source, if it has one with the name given in the options. */
  readonly dataSource: DataSource | undefined;
}

export interface TransactionLimits {
  readonly signal: AbortSignal;
  readonly connectMs: number;
  /** Called once there is a connection, before any statement of the work. */
  readonly connected?: () => void;
  /** How long the transaction may idle before the server ends it, in milliseconds. */
  readonly unattendedMs: number;
  /** Sends the last statements before COMMIT. If it throws, nothing is committed. */
  readonly finish?: (within: EnclosingTransaction) => Promise<void>;
  /** Reads on another connection whether what `finish` sent is committed. Called if that is uncertain. */
  readonly isCommitted?: () => Promise<boolean>;
}

/** Assumed for a layer that does not report its pool: the default of most drivers. */
const ASSUMED_POOL: PaymentTransactionsPool = { size: 10, free: () => 10 };

function enclosingTransaction(database: Database, layer: PaymentTransactions, tx: unknown): EnclosingTransaction {
  return isOfDriver(layer)
    ? new OwnTransaction(database, layer.connectionOf(tx), tx)
    : new HostTransaction(database, layer, tx);
}

/** How long a layer may take to notice that its session is gone, in milliseconds. */
const NOTICE_TIMEOUT_MS = 2_000;

const VERIFY_TIMEOUT_MS = 10_000;

/**
 * Runs handlers in transactions of a data layer, without trusting it: a session that exceeds its limit is ended at the
 * server before the error is reported, and if the outcome is uncertain, the mark that the delivery is done decides.
 */
export class HandlerTransactions {
  readonly pool = this.layer.pool ?? ASSUMED_POOL;

  constructor(
    private readonly layer: PaymentTransactions,
    private readonly sessions: HostSessions,
    private readonly warn: (sentence: string) => void,
  ) {}

  /**
   * Called before the first transaction.
   * @throws PaymentTransactionsError, UndestroyableConnectionError
   */
  async verify(): Promise<void> {
    const { layer, sessions } = this;
    const limits = { signal: AbortSignal.timeout(VERIFY_TIMEOUT_MS), timeoutMs: VERIFY_TIMEOUT_MS };
    const verify = (tx: unknown): void => {
      if (isOfDriver(layer)) sessions.database.verifyDestroyable(layer.connectionOf(tx));
    };
    const moduleIdentity = await sessions.identify();
    let layerIdentity: HostIdentity;
    try {
      const identify = (tx: unknown): Promise<HostIdentity> => {
        verify(tx);
        return sessions.identify(enclosingTransaction(sessions.database, layer, tx));
      };
      layerIdentity = await withTimeout(VERIFY_TIMEOUT_MS, layer.run(identify, limits));
    } catch (error) {
      throw error instanceof UndestroyableConnectionError ? error : PaymentTransactionsError.unusable(error);
    }
    if (layerIdentity.place !== moduleIdentity.place) throw PaymentTransactionsError.elsewhere();
    if (layerIdentity.isolation !== '' && layerIdentity.isolation !== 'read committed') {
      throw PaymentTransactionsError.isolated(layerIdentity.isolation);
    }
    if (layerIdentity.user === moduleIdentity.user) return;
    this.warn(
      `Transactions from the option "transactions" run as user "${layerIdentity.user}", those of the module as ` +
        `"${moduleIdentity.user}". Unless the module's user may end the other user's sessions, a handler that exceeds ` +
        'its time limit keeps its connection until its statement ends.',
    );
  }

  /**
   * Runs the work and commits. If the signal aborts first, the session is ended at the server and nothing is committed.
   * @throws NoConnectionError if there was no connection, or no transaction could begin on it; the work never began
   */
  async run(limits: TransactionLimits, work: (within: EnclosingTransaction) => Promise<void>): Promise<void> {
    limits.signal.throwIfAborted();
    const attempt = (): Promise<void> => new HostAttempt(this.layer, this.sessions, limits).run(work);
    try {
      await attempt();
    } catch (error) {
      // Only our own statements throw this, before the host's run.
      if (!this.sessions.database.mustRepeat(error)) throw error;
      await attempt();
    }
  }
}

class HostAttempt {
  private session: HostSession | undefined;
  /** Set once the transaction must no longer be committed; resolves with the reason when its session has ended. */
  private abortReason: Promise<Error> | undefined;
  /** The first error thrown inside the transaction; the layer may reject with an error of its rollback instead. */
  private thrown: { readonly error: unknown } | undefined;
  private isConnected = false;
  private hasBegun = false;
  private isInsideOver = false;
  private isKilled = false;
  private mayBeCommitted = false;
  /** Whether the layer is done with its session, which may serve somebody else by now. */
  private isReleased = false;
  /** Rejects once the session has been ended: a handler that never settles must not keep its connection. */
  private readonly aborted: Promise<never>;
  private reject: (reason: Error) => void = () => undefined;

  constructor(
    private readonly layer: PaymentTransactions,
    private readonly sessions: HostSessions,
    private readonly limits: TransactionLimits,
  ) {
    this.aborted = new Promise((_resolve, reject) => (this.reject = reject));
    this.aborted.catch(() => undefined);
  }

  async run(work: (within: EnclosingTransaction) => Promise<void>): Promise<void> {
    const { signal, unattendedMs: timeoutMs, isCommitted } = this.limits;
    const inside = (tx: unknown): Promise<void> =>
      this.inside(enclosingTransaction(this.sessions.database, this.layer, tx), work);
    const running = Promise.resolve()
      .then(() => this.layer.run(inside, { signal, timeoutMs }))
      .finally(() => (this.isReleased = true));
    let failure = await this.awaitWithTimeout(running).then(
      () => undefined,
      (error: unknown) => this.thrown ?? { error },
    );
    if (this.abortReason) failure = { error: await this.abortReason };
    // A layer may reject after a COMMIT that succeeded, or hide one that failed (unless its connection is known: the
    // mark is the last statement there).
    if (this.mayBeCommitted && isCommitted && (failure || !isOfDriver(this.layer))) {
      if (await isCommitted()) return;
      throw failure ? failure.error : PaymentTransactionsError.uncommitted();
    }
    // The handler has ended the transaction itself, through its layer, and may still be running.
    if (!failure && this.session && !this.isInsideOver) {
      const ended = new HandlerTransactionEndedError();
      this.abortReason ??= Promise.resolve(ended);
      this.reject(ended);
      throw ended;
    }
    if (failure) throw this.hasBegun ? failure.error : new NoConnectionError(failure.error, this.isConnected);
    if (!this.session)
      throw PaymentTransactionsError.unusable(new Error('run() resolved without calling the work that it was given.'));
  }

  private async inside(
    transaction: EnclosingTransaction,
    work: (within: EnclosingTransaction) => Promise<void>,
  ): Promise<void> {
    const { connected, finish, unattendedMs } = this.limits;
    let working: Promise<void> | undefined;
    try {
      await this.check();
      this.isConnected = true;
      this.session = await this.sessions.begin(transaction, unattendedMs);
      await this.check();
      connected?.();
      this.hasBegun = true;
      working = this.closeAfter(work(transaction), transaction.tx);
      await Promise.race([working, this.aborted]);
      await this.check();
      this.mayBeCommitted = true;
      await finish?.(transaction);
      if (transaction instanceof HostTransaction) await this.sessions.end(transaction);
      // Next, the session returns to its pool, where it must not be killed: wait for a kill that is under way.
      await this.abortReason;
    } catch (error) {
      this.thrown ??= { error };
      await this.abortReason;
      // A session that cannot be put in order must not go back to its pool.
      if (transaction instanceof HostTransaction && !this.isReleased) {
        await this.sessions.undo(transaction, () => this.waitUntilIdle(working)).catch(() => this.kill());
      }
      throw error;
    } finally {
      if (transaction instanceof OwnTransaction) transaction.isOver = true;
      this.isInsideOver = true;
    }
  }

  /** Waits for the work and, on a known connection, for the statements that it has not awaited. */
  private async closeAfter(work: Promise<void>, tx: unknown): Promise<void> {
    await work;
    if (isOfDriver(this.layer)) await this.layer.close(tx);
  }

  private async check(): Promise<void> {
    if (this.abortReason) throw await this.abortReason;
  }

  /** Settles as the layer does, or soon after the limit. */
  private async awaitWithTimeout(running: Promise<void>): Promise<void> {
    const { signal, connectMs } = this.limits;
    let connecting: NodeJS.Timeout | undefined;
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      const refuse = (reason: Error): void => {
        this.abortReason ??= this.end(reason);
        void this.abortReason.then((error) => this.reject(error));
        void this.abortReason
          .then(() => withTimeout(NOTICE_TIMEOUT_MS, running).catch(() => undefined))
          .then(() => reject(reason));
      };
      const late = (): void => {
        const problem = this.isConnected ? 'The session did not answer' : 'The data layer had no free connection';
        if (!this.hasBegun) refuse(new TimeoutError(`${problem} within ${connectMs} ms.`));
      };
      onAbort = () => refuse(signal.reason as Error);
      connecting = setTimeout(late, connectMs);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      await Promise.race([running, aborted]);
    } finally {
      clearTimeout(connecting);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the session before the limit is reported: while the session is open, the handler could still write. */
  private async end(reason: Error): Promise<Error> {
    return (await this.kill()) === 'idle' ? new HandlerIdleError(reason) : reason;
  }

  /** Resolves when the handler or its session has ended. Keeps trying to end a session that outlived the limit. */
  private async waitUntilIdle(working = Promise.resolve()): Promise<void> {
    const over = working.then(
      () => true,
      () => true,
    );
    while (this.abortReason && !this.isKilled) {
      if (await withTimeout(NOTICE_TIMEOUT_MS, over).catch(() => false)) return;
      await this.kill();
    }
  }

  /** Resolves with what the session was doing; `undefined` if it was not ended. */
  private async kill(): Promise<EndedSession | undefined> {
    if (!this.session) return undefined;
    // If ending the session waits too long for a connection, give up: by then, the session may serve somebody else.
    let isWanted = true;
    const killing = this.sessions.kill(this.session, {
      isWanted: () => isWanted && !this.isReleased,
      isEnding: () => this.isInsideOver,
    });
    const ended = await withTimeout(NOTICE_TIMEOUT_MS, killing)
      .catch(() => undefined)
      .finally(() => (isWanted = false));
    this.isKilled ||= ended !== undefined;
    return ended;
  }
}
