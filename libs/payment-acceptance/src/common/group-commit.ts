import { AsyncResource } from 'node:async_hooks';
import { TimeoutError, withTimeout } from './timeout.js';

/** How one item of a batch ended. */
export type Ended<R> = { readonly value: R } | { readonly error: unknown };

/** The item was given up. What is in flight for it may still be done. */
export class GroupCommitTimeoutError extends TimeoutError {
  override readonly name = 'GroupCommitTimeoutError';
}

/**
 * So many batches and single items may be in flight that were given up. Each holds what it works with, such as a connection,
 * and one more would hold another: beyond that nothing is begun, and everybody is told so at once.
 */
const MAX_OVERDUE = 1;

/** So many items wait that a further one is refused. */
export class GroupCommitFullError extends Error {
  override readonly name = 'GroupCommitFullError';
}

export interface GroupCommitOptions<T, R> {
  /** Name of what is done, for diagnostics: no item's trace or context is that of its batch. */
  readonly name: string;
  /** Items of one batch. */
  readonly maxBatch: number;
  /** Items that wait, half of them at most to be done alone; a further one is refused. Any number unless given. */
  readonly maxWaiting?: number;
  /** Items that are done alone at the same time. Any number unless given. */
  readonly maxAlone?: number;
  /** When a batch, or an item that is done alone, is given up, so that the next one need not wait for it, in milliseconds. */
  readonly timeoutMs: number;
  /** When an item is given up that has had no answer since it came, in milliseconds. Never unless given. */
  readonly maxWaitMs?: number;
  /** Items of one batch are of one kind. All are unless given. */
  kindOf?(item: T): unknown;
  /** Does a batch; gives how each item ended, in their order, or `undefined` for one that is to be done alone. */
  run(items: readonly T[]): Promise<readonly (Ended<R> | undefined)[]>;
  /** Does one item beside the batches, which do not wait for it. */
  alone(item: T): Promise<R>;
  /** Whether a batch may have failed because of one of its items, so that each is to be done alone. */
  isSeparable(error: unknown, items: readonly T[]): boolean;
}

interface Waiting<T, R> {
  readonly item: T;
  readonly deadline: number;
  /** Whether it has no answer yet. */
  open: boolean;
  resolve(value: R): void;
  reject(error: unknown): void;
}

/**
 * Group commit: what comes in the same turn of the event loop, or while a batch is in flight, makes the next batch, in the
 * order in which it came. Each item is answered when its own work is committed, or given up, whatever becomes of it then. An item that comes alone waits for nobody.
 */
export class GroupCommit<T, R> {
  /**
   * In the order of their deadlines; those that have an answer are taken out from time to time. No `Set`: one that changes
   * all the time leaves tables behind of which each holds on to the next, and so each item to memory until it is searched
   * through as a whole.
   */
  private waiting: Waiting<T, R>[] = [];
  private open = 0;
  private batched: Waiting<T, R>[] = [];
  private single: Waiting<T, R>[] = [];
  private batchRuns = false;
  private aloneRunning = 0;
  private overdue = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Who waits until all is answered that was there. */
  private readonly drains: { readonly left: Set<Waiting<T, R>>; readonly done: () => void }[] = [];
  private readonly context: AsyncResource;
  private readonly maxWaiting: number;
  private readonly maxAlone: number;
  private readonly maxWaitMs: number;

  constructor(private readonly options: GroupCommitOptions<T, R>) {
    this.context = new AsyncResource(options.name);
    this.maxWaiting = options.maxWaiting ?? Infinity;
    this.maxAlone = options.maxAlone ?? Infinity;
    this.maxWaitMs = options.maxWaitMs ?? Infinity;
  }

  /**
   * Resolves when the item is done.
   * @throws GroupCommitFullError, GroupCommitTimeoutError, or what the work throws
   */
  add(item: T): Promise<R> {
    if (this.isStuck()) return Promise.reject(stuck());
    if (this.open >= this.maxWaiting) {
      return Promise.reject(new GroupCommitFullError(`${this.maxWaiting} wait already.`));
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

  /** Resolves when all that waits now has its answer. */
  drained(): Promise<void> {
    if (this.open === 0) return Promise.resolve();
    return new Promise((done) => this.drains.push({ left: new Set(this.waiting.filter(isOpen)), done }));
  }

  private needsTimer(): boolean {
    return !this.timer && this.maxWaitMs !== Infinity;
  }

  /** What the event loop has read by now goes together: a batch for the first one alone would hold up the others. */
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
        if (this.isStuck()) for (const one of batch) this.end(one, () => one.reject(stuck()));
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
      const ends = await this.inTime(this.options.run(batch.map(({ item }) => item)));
      // Answered when the next batch is on its way: the database works while the answers are written.
      setImmediate(() => batch.forEach((one, index) => this.answer(one, ends[index])));
    } catch (error) {
      // Not in this turn of the event loop: a pool that refuses at once, and callers who come again at once, would keep
      // all else from it.
      setImmediate(() => this.fail(batch, error));
    }
  }

  private answer(one: Waiting<T, R>, end: Ended<R> | undefined): void {
    if (!end) this.runAlone(one);
    else if ('error' in end) this.end(one, () => one.reject(end.error));
    else this.end(one, () => one.resolve(end.value));
  }

  private fail(batch: readonly Waiting<T, R>[], error: unknown): void {
    const items = batch.map(({ item }) => item);
    const separable = this.options.isSeparable(error, items);
    const reason = error instanceof TimeoutError ? overdue(this.options.timeoutMs) : error;
    for (const one of batch) {
      if (separable) this.runAlone(one);
      else this.end(one, () => one.reject(reason));
    }
  }

  /** They take no more than half of the room: what is out of the ordinary leaves the rest to the common case. */
  private runAlone(one: Waiting<T, R>): void {
    const limit = Math.ceil(this.maxWaiting / 2);
    if (this.single.length >= limit) {
      this.end(one, () => one.reject(new GroupCommitFullError(`${limit} wait already to be done alone.`)));
      return;
    }
    this.single.push(one);
    if (this.aloneRunning < this.maxAlone) void this.runSingles();
  }

  private async runSingles(): Promise<void> {
    this.aloneRunning += 1;
    for (let one = this.single.shift(); one; one = this.single.shift()) {
      if (!one.open) continue;
      const next = one;
      if (this.isStuck()) this.end(next, () => next.reject(stuck()));
      else await this.runSingle(next);
    }
    this.aloneRunning -= 1;
  }

  private async runSingle(one: Waiting<T, R>): Promise<void> {
    try {
      const value = await this.inTime(this.options.alone(one.item));
      this.end(one, () => one.resolve(value));
    } catch (error) {
      const reason = error instanceof TimeoutError ? overdue(this.options.timeoutMs) : error;
      this.end(one, () => one.reject(reason));
    }
  }

  /** Gives work up that does not end: it holds up no further batch, unless there are others like it. */
  private async inTime<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await withTimeout(this.options.timeoutMs, work);
    } catch (error) {
      if (error instanceof TimeoutError) {
        this.overdue += 1;
        const ended = (): void => void (this.overdue -= 1);
        void work.then(ended, ended);
      }
      throw error;
    }
  }

  private isStuck(): boolean {
    return this.overdue > MAX_OVERDUE;
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

  /** Answers those whose time is over. What is in flight for them goes on, and may be done still. */
  private expire(): void {
    this.timer = undefined;
    for (const one of this.waiting) {
      if (!one.open) continue;
      const left = one.deadline - performance.now();
      if (left > 0) {
        this.timer = setTimeout(() => this.expire(), left);
        return;
      }
      this.end(one, () => one.reject(overdue(this.maxWaitMs)));
    }
  }
}

function overdue(limitMs: number): GroupCommitTimeoutError {
  return new GroupCommitTimeoutError(`The database did not answer within ${limitMs} ms.`);
}

function stuck(): GroupCommitTimeoutError {
  return new GroupCommitTimeoutError('The database owes answers to earlier statements, so no further one is sent.');
}

function isOpen({ open }: { readonly open: boolean }): boolean {
  return open;
}
