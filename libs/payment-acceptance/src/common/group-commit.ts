import { AsyncResource } from 'node:async_hooks';
import { GroupCommitTimeoutError, TimeLimitedWork } from './time-limited-work.js';

export { GroupCommitTimeoutError } from './time-limited-work.js';

/** The outcome of one item of a batch. */
export type Ended<R> = { readonly value: R } | { readonly error: unknown };

/** Too many items wait, so this one was rejected. */
export class GroupCommitFullError extends Error {
  override readonly name = 'GroupCommitFullError';
}

export interface GroupCommitOptions<T, R> {
  /** Name of the async resource in which batches run: a batch takes over no item's trace or context. */
  readonly name: string;
  /** Maximum items in one batch. */
  readonly maxBatch: number;
  /** Maximum items that wait; at most half of them for being done alone. Default unlimited. */
  readonly maxWaiting?: number;
  /** Maximum items done alone at the same time. Default unlimited. */
  readonly maxAlone?: number;
  /** Timeout of a batch, or of an item done alone; the next one then starts. In milliseconds. */
  readonly timeoutMs: number;
  /** Timeout of an item, from `add` to its answer, in milliseconds. Default none. */
  readonly maxWaitMs?: number;
  /** Only items of the same kind share a batch. Default one kind. */
  kindOf?(item: T): unknown;
  /** Runs a batch. Resolves with the outcome of each item, in order; `undefined` for one that must be done alone. */
  run(items: readonly T[]): Promise<readonly (Ended<R> | undefined)[]>;
  /** Does one item, in parallel with the batches. */
  alone(item: T): Promise<R>;
  /** Whether a single item may have failed the batch, so that each must be done alone. */
  isSeparable(error: unknown, items: readonly T[]): boolean;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly deadline: number;
  /** Whether it still has no answer. */
  open: boolean;
  resolve(value: R): void;
  reject(error: unknown): void;
}

/**
 * Group commit: items that arrive in the same turn of the event loop, or while a batch is in flight, form the next batch, in
 * order of arrival. Each item is answered after its own commit, or when it times out, even if its work still goes on. An
 * item that arrives alone waits for no other.
 */
export class GroupCommit<T, R> {
  /**
   * In order of deadline; answered items are removed now and then. Not a `Set`: one that changes constantly leaves behind a
   * chain of old tables, which keeps items in memory until a full garbage collection.
   */
  private waiting: Waiting<T, R>[] = [];
  private open = 0;
  private batched: Waiting<T, R>[] = [];
  private single: Waiting<T, R>[] = [];
  private batchRuns = false;
  private aloneRunning = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Callers of `drained`, with the items that each still waits for. */
  private readonly drains: { readonly left: Set<Waiting<T, R>>; readonly done: () => void }[] = [];
  private readonly context: AsyncResource;
  private readonly work: TimeLimitedWork;
  private readonly maxWaiting: number;
  private readonly maxAlone: number;
  private readonly maxWaitMs: number;

  constructor(private readonly options: GroupCommitOptions<T, R>) {
    this.context = new AsyncResource(options.name);
    this.work = new TimeLimitedWork(options.timeoutMs);
    this.maxWaiting = options.maxWaiting ?? Infinity;
    this.maxAlone = options.maxAlone ?? Infinity;
    this.maxWaitMs = options.maxWaitMs ?? Infinity;
  }

  /**
   * Resolves with the item's result.
   * @throws GroupCommitFullError, GroupCommitTimeoutError, or what the work throws
   */
  add(item: T): Promise<R> {
    if (this.work.isBlocked) return Promise.reject(GroupCommitTimeoutError.blocked());
    if (this.open >= this.maxWaiting) {
      return Promise.reject(new GroupCommitFullError(`${this.maxWaiting} items are already waiting.`));
    }
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + this.maxWaitMs;
      const one: Waiting<T, R> = { item, deadline, open: true, resolve, reject };
      this.open += 1;
      this.waiting.push(one);
      this.batched.push(one);
      if (!this.batchRuns || this.needsTimer()) this.context.runInAsyncScope(() => this.start());
    });
  }

  /** Resolves when every item that waits now has been answered. */
  drained(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    return new Promise((done) => this.drains.push({ left: new Set(this.waiting.filter(isOpen)), done }));
  }

  private needsTimer(): boolean {
    return !this.timer && this.maxWaitMs !== Infinity;
  }

  /** Collects everything that the event loop has already read: a batch of the first item alone would delay the others. */
  private start(): void {
    if (this.needsTimer()) this.timer = setTimeout(() => this.expire(), this.maxWaitMs);
    if (this.batchRuns) return;
    this.batchRuns = true;
    setImmediate(() => void this.runBatches());
  }

  private async runBatches(): Promise<void> {
    const { maxBatch } = this.options;
    while (this.batched.length > 0) {
      const next = this.batched.slice(0, maxBatch).filter(isOpen);
      this.batched = this.batched.slice(maxBatch);
      for (const batch of this.byKind(next)) {
        if (this.work.isBlocked) for (const one of batch) this.reject(one, GroupCommitTimeoutError.blocked());
        else await this.runBatch(batch);
      }
    }
    this.batchRuns = false;
  }

  private byKind(items: readonly Waiting<T, R>[]): Iterable<readonly Waiting<T, R>[]> {
    const kinds = new Map<unknown, Waiting<T, R>[]>();
    for (const one of items) {
      const kind = this.options.kindOf?.(one.item);
      const same = kinds.get(kind);
      if (same) same.push(one);
      else kinds.set(kind, [one]);
    }
    return kinds.values();
  }

  private async runBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const ends = await this.work.run(this.options.run(batch.map(({ item }) => item)));
      // Answer once the next batch is on its way, so that the database works while the answers are written.
      setImmediate(() => batch.forEach((one, index) => this.answer(one, ends[index])));
    } catch (error) {
      // Not in this turn of the event loop: if the pool rejects at once and callers retry at once, nothing else would run.
      setImmediate(() => this.fail(batch, error));
    }
  }

  private answer(one: Waiting<T, R>, end: Ended<R> | undefined): void {
    if (!end) this.runAlone(one);
    else if ('error' in end) this.reject(one, end.error);
    else this.end(one, () => one.resolve(end.value));
  }

  private fail(batch: readonly Waiting<T, R>[], error: unknown): void {
    const items = batch.map(({ item }) => item);
    const separable = this.options.isSeparable(error, items);
    for (const one of batch) {
      if (separable) this.runAlone(one);
      else this.reject(one, error);
    }
  }

  /** Takes at most half of the queue, so that exceptional items leave room for ordinary ones. */
  private runAlone(one: Waiting<T, R>): void {
    const limit = Math.ceil(this.maxWaiting / 2);
    if (this.single.length >= limit) {
      this.reject(one, new GroupCommitFullError(`${limit} items are already waiting to be processed individually.`));
      return;
    }
    this.single.push(one);
    if (this.aloneRunning < this.maxAlone) void this.runSingles();
  }

  private async runSingles(): Promise<void> {
    this.aloneRunning += 1;
    for (let one = this.single.shift(); one; one = this.single.shift()) {
      if (!one.open) continue;
      if (this.work.isBlocked) this.reject(one, GroupCommitTimeoutError.blocked());
      else await this.runSingle(one);
    }
    this.aloneRunning -= 1;
  }

  private async runSingle(one: Waiting<T, R>): Promise<void> {
    try {
      const value = await this.work.run(this.options.alone(one.item));
      this.end(one, () => one.resolve(value));
    } catch (error) {
      this.reject(one, error);
    }
  }

  private reject(one: Waiting<T, R>, error: unknown): void {
    this.end(one, () => one.reject(error));
  }

  private end(one: Waiting<T, R>, answer: () => void): void {
    if (!one.open) return;
    one.open = false;
    this.open -= 1;
    answer();
    for (const { left, done } of this.drains) if (left.delete(one) && left.size === 0) done();
    if (this.open > 0) {
      if (this.waiting.length > this.open + this.options.maxBatch) this.waiting = this.waiting.filter(isOpen);
      return;
    }
    this.waiting = [];
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Rejects items whose deadline has passed. What is in flight for them goes on, and may still commit. */
  private expire(): void {
    this.timer = undefined;
    for (const one of this.waiting) {
      if (!one.open) continue;
      const left = one.deadline - performance.now();
      if (left > 0) {
        this.timer = setTimeout(() => this.expire(), left);
        return;
      }
      this.reject(one, GroupCommitTimeoutError.after(this.maxWaitMs));
    }
  }
}

function isOpen({ open }: { readonly open: boolean }): boolean {
  return open;
}
