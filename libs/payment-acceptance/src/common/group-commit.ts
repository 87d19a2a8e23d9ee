import { AsyncResource } from 'node:async_hooks';
import { TimeoutError, withTimeout } from './timeout.js';

export type ItemOutcome<R> = { readonly value: R } | { readonly error: unknown };

export class GroupCommitFullError extends Error {
  override readonly name = 'GroupCommitFullError';
}

export interface GroupCommitOptions<T, R> {
  /** Name of the async resource in which batches run: a batch takes over no item's trace or context. */
  readonly name: string;
  readonly maxBatch: number;
  /** Maximum items that wait; at most half as many may wait to be done alone. Default unlimited. */
  readonly maxWaiting?: number;
  /** Maximum items done alone at the same time. Default unlimited. */
  readonly maxSingles?: number;
  /** Timeout of a batch, or of an item done alone; the next one then starts. In milliseconds. */
  readonly timeoutMs: number;
  /** Timeout of an item, from `add` to its answer, in milliseconds. Default none. */
  readonly maxWaitMs?: number;
  /** Only items of the same kind share a batch. Default one kind. */
  kindOf?(item: T): unknown;
  /** Runs a batch. Resolves with the outcome of each item, in order; `undefined` for one that must be done alone. */
  run(items: readonly T[]): Promise<readonly (ItemOutcome<R> | undefined)[]>;
  /** Does one item, in parallel with the batches. */
  processSingle(item: T): Promise<R>;
  /** Whether a single item may have failed the batch, so that each must be done alone. */
  isSeparable(error: unknown, items: readonly T[]): boolean;
}

interface WaitingItem<T, R> {
  readonly item: T;
  readonly timer: NodeJS.Timeout | undefined;
  /** Whether the item has no answer yet. */
  open: boolean;
  resolve(value: R): void;
  reject(error: unknown): void;
}

/**
 * Items that arrive in the same turn of the event loop, or while a batch is in flight, form the next batch, in order of
 * arrival. An item is answered after its own commit, or when it times out, even if its work still goes on.
 */
export class GroupCommit<T, R> {
  private open = 0;
  private batched: WaitingItem<T, R>[] = [];
  private singles: WaitingItem<T, R>[] = [];
  private batchRuns = false;
  private singlesRunning = 0;
  private readonly context = new AsyncResource(this.options.name);
  private readonly work = new TimeLimitedWork(this.options.timeoutMs);
  private readonly maxWaiting = this.options.maxWaiting ?? Infinity;
  private readonly maxSingles = this.options.maxSingles ?? Infinity;

  constructor(private readonly options: GroupCommitOptions<T, R>) {}

  /** @throws GroupCommitFullError, GroupCommitTimeoutError, or what the work throws */
  add(item: T): Promise<R> {
    if (this.work.isBlocked) return Promise.reject(GroupCommitTimeoutError.blocked());
    if (this.open >= this.maxWaiting) {
      return Promise.reject(new GroupCommitFullError(`${this.maxWaiting} items are already waiting.`));
    }
    return new Promise((resolve, reject) => {
      const { maxWaitMs } = this.options;
      const expire = (ms: number): void => this.reject(entry, GroupCommitTimeoutError.after(ms));
      const timer = maxWaitMs === undefined ? undefined : setTimeout(expire, maxWaitMs, maxWaitMs);
      const entry: WaitingItem<T, R> = { item, timer, open: true, resolve, reject };
      this.open += 1;
      this.batched.push(entry);
      if (this.batchRuns) return;
      this.batchRuns = true;
      // Waits for what the event loop has already read: a batch of the first item alone would delay the others.
      this.context.runInAsyncScope(() => setImmediate(() => void this.runBatches()));
    });
  }

  private async runBatches(): Promise<void> {
    const { maxBatch } = this.options;
    while (this.batched.length > 0) {
      const next = this.batched.slice(0, maxBatch).filter(({ open }) => open);
      this.batched = this.batched.slice(maxBatch);
      for (const batch of this.byKind(next)) {
        if (this.work.isBlocked) for (const entry of batch) this.reject(entry, GroupCommitTimeoutError.blocked());
        else await this.runBatch(batch);
      }
    }
    this.batchRuns = false;
  }

  private byKind(items: readonly WaitingItem<T, R>[]): Iterable<readonly WaitingItem<T, R>[]> {
    const kinds = new Map<unknown, WaitingItem<T, R>[]>();
    for (const entry of items) {
      const kind = this.options.kindOf?.(entry.item);
      const itemsOfKind = kinds.get(kind);
      if (itemsOfKind) itemsOfKind.push(entry);
      else kinds.set(kind, [entry]);
    }
    return kinds.values();
  }

  private async runBatch(batch: readonly WaitingItem<T, R>[]): Promise<void> {
    try {
      const ends = await this.work.run(this.options.run(batch.map(({ item }) => item)));
      // Answer once the next batch is on its way, so that the database works while the answers are written.
      setImmediate(() => batch.forEach((entry, index) => this.answer(entry, ends[index])));
    } catch (error) {
      // Not in this turn: if the pool rejects at once and callers retry at once, nothing else would run.
      setImmediate(() => this.fail(batch, error));
    }
  }

  private answer(entry: WaitingItem<T, R>, end: ItemOutcome<R> | undefined): void {
    if (!end) this.queueSingle(entry);
    else if ('error' in end) this.reject(entry, end.error);
    else this.end(entry, () => entry.resolve(end.value));
  }

  private fail(batch: readonly WaitingItem<T, R>[], error: unknown): void {
    const items = batch.map(({ item }) => item);
    const separable = this.options.isSeparable(error, items);
    for (const entry of batch) {
      if (separable) this.queueSingle(entry);
      else this.reject(entry, error);
    }
  }

  /** Takes at most half of the queue, so that exceptional items leave room for ordinary ones. */
  private queueSingle(entry: WaitingItem<T, R>): void {
    const limit = Math.ceil(this.maxWaiting / 2);
    if (this.singles.length >= limit) {
      this.reject(entry, new GroupCommitFullError(`${limit} items are already waiting to be processed individually.`));
      return;
    }
    this.singles.push(entry);
    if (this.singlesRunning < this.maxSingles) void this.runSingles();
  }

  private async runSingles(): Promise<void> {
    this.singlesRunning += 1;
    for (let entry = this.singles.shift(); entry; entry = this.singles.shift()) {
      if (!entry.open) continue;
      if (this.work.isBlocked) this.reject(entry, GroupCommitTimeoutError.blocked());
      else await this.runSingle(entry);
    }
    this.singlesRunning -= 1;
  }

  private async runSingle(entry: WaitingItem<T, R>): Promise<void> {
    try {
      const value = await this.work.run(this.options.processSingle(entry.item));
      this.end(entry, () => entry.resolve(value));
    } catch (error) {
      this.reject(entry, error);
    }
  }

  private reject(entry: WaitingItem<T, R>, error: unknown): void {
    this.end(entry, () => entry.reject(error));
  }

  private end(entry: WaitingItem<T, R>, answer: () => void): void {
    if (!entry.open) return;
    entry.open = false;
    clearTimeout(entry.timer);
    this.open -= 1;
    answer();
  }
}

/** The item timed out. What is in flight for it may still commit. */
export class GroupCommitTimeoutError extends TimeoutError {
  override readonly name = 'GroupCommitTimeoutError';

  static after(timeoutMs: number): GroupCommitTimeoutError {
    return new GroupCommitTimeoutError(`The database did not answer within ${timeoutMs} ms.`);
  }

  static blocked(): GroupCommitTimeoutError {
    return new GroupCommitTimeoutError(
      'The database has not answered earlier statements, so no further ones are sent.',
    );
  }
}

/** Nothing new starts beyond this many timed-out pieces in flight: each holds a resource, such as a connection. */
const MAX_OVERDUE = 1;

/** Work that exceeds its time limit is no longer awaited, but is counted until it ends. */
class TimeLimitedWork {
  private overdue = 0;

  constructor(private readonly timeoutMs: number) {}

  get isBlocked(): boolean {
    return this.overdue > MAX_OVERDUE;
  }

  /** @throws GroupCommitTimeoutError after the limit, or what the work throws */
  async run<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await withTimeout(this.timeoutMs, work);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      this.overdue += 1;
      const ended = (): void => void (this.overdue -= 1);
      void work.then(ended, ended);
      throw GroupCommitTimeoutError.after(this.timeoutMs);
    }
  }
}
