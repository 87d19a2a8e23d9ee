import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { TimeLimitError, within } from '../common/time-limit.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { CallbackBatchStore } from '../storage/callback-batch.store.js';
import { CallbackStore, type NewCallback, type Recorded } from '../storage/callback.store.js';
import { mayConcernOneRow } from '../storage/database.js';

/** So many callbacks wait to be stored that a further one is turned away. */
export class JournalFullError extends Error {
  override readonly name = 'JournalFullError';
}

interface Waiting {
  readonly callback: NewCallback;
  readonly deadline: number;
  /** Whether it has no answer yet. */
  open: boolean;
  resolve(recorded: Recorded): void;
  reject(error: unknown): void;
}

/** Rows of one statement: what they take must stay small beside `storeTimeoutMs`. */
const MOST = 256;

/** Statements for single callbacks at once: floods of what is not the common case leave the pool to others. */
const SINGLES = 2;

/**
 * Group commit: while one statement is under way callbacks wait, and the next one takes them together. Each is answered
 * after the commit of its own row, or when `storeTimeoutMs` are over, whatever becomes of it then.
 *
 * A statement takes only the common case. What it leaves out, and all of a batch that failed where one row may be to
 * blame, is stored one by one beside the batches, which do not wait for it. So two connections more than one are needed at
 * most, however many callbacks come.
 */
@Injectable()
export class CallbackJournal implements BeforeApplicationShutdown, OnApplicationShutdown {
  /**
   * In the order of their deadlines; those that have an answer are taken out now and then. No `Set`: one that changes all
   * the time leaves tables behind of which each holds on to the next, and so each callback to memory until it is searched
   * through as a whole.
   */
  private waiting: Waiting[] = [];
  private open = 0;
  private batched: Waiting[] = [];
  private single: Waiting[] = [];
  private batchRuns = false;
  private singlesRun = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Shutdowns: those that each still waits for. */
  private readonly drains: { readonly left: Set<Waiting>; readonly done: () => void }[] = [];
  /** What runs for many callbacks belongs to the trace and the context of none. */
  private readonly context = new AsyncResource('PaymentCallbackJournal');

  constructor(
    private readonly batches: CallbackBatchStore,
    private readonly singles: CallbackStore,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Resolves when the callback's row is committed.
   * @throws JournalFullError, TimeLimitError, or what the database says
   */
  record(callback: NewCallback): Promise<Recorded> {
    const { maxQueued, storeTimeoutMs } = this.options.callbacks;
    if (this.open >= maxQueued) {
      return Promise.reject(new JournalFullError(`${maxQueued} callbacks wait to be stored.`));
    }
    return new Promise((resolve, reject) => {
      const waiting = { callback, deadline: performance.now() + storeTimeoutMs, open: true, resolve, reject };
      this.open += 1;
      this.waiting.push(waiting);
      this.batched.push(waiting);
      if (!this.timer || !this.batchRuns) this.context.runInAsyncScope(() => this.start());
    });
  }

  /**
   * Requests come until the server is closed, so the first time waits for those that are there, and the second one takes
   * the rest: all that came is answered before the data source goes. Neither takes longer than `storeTimeoutMs`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.drained();
  }

  onApplicationShutdown(): Promise<void> {
    return this.drained();
  }

  private drained(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    return new Promise((done) => this.drains.push({ left: new Set(this.waiting.filter(isOpen)), done }));
  }

  /** What the event loop has read by now goes together: a statement for the first one alone would hold up the others. */
  private start(): void {
    this.timer ??= setTimeout(() => this.expire(), this.options.callbacks.storeTimeoutMs);
    if (this.batchRuns) return;
    this.batchRuns = true;
    setImmediate(() => void this.runBatches());
  }

  private async runBatches(): Promise<void> {
    while (this.batched.length > 0) {
      const batch = this.batched.slice(0, MOST);
      this.batched = this.batched.slice(MOST);
      const waiting = batch.filter(isOpen);
      await this.storeBatch(waiting.filter(({ callback }) => callback.billId === null));
      await this.storeBatch(waiting.filter(({ callback }) => callback.billId !== null));
    }
    this.batchRuns = false;
  }

  private async storeBatch(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    const { maxPerBill, storeTimeoutMs } = this.options.callbacks;
    const callbacks = batch.map(({ callback }) => callback);
    try {
      // A connection that never answers holds up no further batch.
      const stored = await within(storeTimeoutMs, this.batches.record(callbacks, maxPerBill));
      // Answered when the next statement is on its way: the database works while the answers are written.
      setImmediate(() => this.answerStored(batch, stored));
    } catch (error) {
      // Not in this turn of the event loop: a pool that refuses at once, and callers who come again at once, would keep
      // all else from it.
      setImmediate(() => this.answerFailed(batch, error));
    }
  }

  private answerFailed(batch: readonly Waiting[], error: unknown): void {
    const single = mayConcernOneRow(error);
    for (const one of batch) {
      if (single) this.storeSingly(one);
      else this.end(one, () => one.reject(error));
    }
  }

  private answerStored(batch: readonly Waiting[], stored: ReadonlySet<string>): void {
    for (const one of batch) {
      if (stored.has(one.callback.id)) this.end(one, () => one.resolve('matched'));
      else this.storeSingly(one);
    }
  }

  /** They take no more than half of the queue: what strangers make up must leave room for the common case. */
  private storeSingly(one: Waiting): void {
    const most = Math.ceil(this.options.callbacks.maxQueued / 2);
    if (this.single.length >= most) {
      this.end(one, () => one.reject(new JournalFullError(`${most} callbacks wait to be stored one by one.`)));
      return;
    }
    this.single.push(one);
    if (this.singlesRun < SINGLES) void this.runSingles();
  }

  private async runSingles(): Promise<void> {
    this.singlesRun += 1;
    const { storeTimeoutMs } = this.options.callbacks;
    for (let one = this.single.shift(); one; one = this.single.shift()) {
      if (!one.open) continue;
      try {
        const recorded = await within(storeTimeoutMs, this.singles.record(one.callback, this.options.callbacks));
        this.end(one, () => one.resolve(recorded));
      } catch (error) {
        this.end(one, () => one.reject(error));
      }
    }
    this.singlesRun -= 1;
  }

  private end(one: Waiting, answer: () => void): void {
    if (!one.open) return;
    one.open = false;
    this.open -= 1;
    answer();
    for (const { left, done } of this.drains) if (left.delete(one) && left.size === 0) done();
    if (this.open > 0) {
      if (this.waiting.length > this.open + MOST) this.waiting = this.waiting.filter(isOpen);
      return;
    }
    this.waiting = [];
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Answers those whose time is over. What is under way for them goes on, and may store them still. */
  private expire(): void {
    this.timer = undefined;
    const { storeTimeoutMs } = this.options.callbacks;
    for (const one of this.waiting) {
      if (!one.open) continue;
      const left = one.deadline - performance.now();
      if (left > 0) {
        this.timer = setTimeout(() => this.expire(), left);
        return;
      }
      this.end(one, () => one.reject(new TimeLimitError(`The database did not answer within ${storeTimeoutMs} ms.`)));
    }
  }
}

function isOpen({ open }: Waiting): boolean {
  return open;
}
