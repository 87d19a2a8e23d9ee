import { setImmediate as turn } from 'node:timers/promises';
import { TimeLimitError, within } from './time-limit.js';

/** How one item of a batch ended. */
export type Ended<R> = { readonly value: R } | { readonly error: unknown };

/** The item was given up. What is under way for it may still be done. */
export class BatchOverdueError extends Error {
  override readonly name = 'BatchOverdueError';
}

interface Waiting<T, R> {
  readonly item: T;
  resolve(value: R): void;
  reject(error: unknown): void;
}

/**
 * Group commit: what comes in the same turn of the event loop, or while a batch is under way, makes the next batch, in the
 * order in which it came. An item that comes alone waits for nobody, and no batch waits for ever for the one before.
 */
export class Batches<T, R> {
  private waiting: Waiting<T, R>[] = [];
  private busy = false;

  /**
   * @param most items of one batch
   * @param run does a batch; gives how each item ended, in their order, or `undefined` for one that it left out: such an
   *   item is done by `alone`, as all are where it throws and `separable` says that one item may be to blame
   * @param alone does one item beside the batches, which do not wait for it
   * @param limitMs when items are given up with a BatchOverdueError, in milliseconds
   */
  constructor(
    private readonly most: number,
    private readonly run: (items: readonly T[]) => Promise<readonly (Ended<R> | undefined)[]>,
    private readonly alone: (item: T) => Promise<R>,
    private readonly separable: (error: unknown) => boolean,
    private readonly limitMs: number,
  ) {}

  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.busy) void this.work();
    });
  }

  private async work(): Promise<void> {
    this.busy = true;
    await turn();
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, this.most);
      this.waiting = this.waiting.slice(this.most);
      await this.runBatch(batch);
    }
    this.busy = false;
  }

  private async runBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const ends = await this.limited(this.run(batch.map(({ item }) => item)));
      batch.forEach((one, index) => {
        const end = ends[index];
        if (!end) this.runAlone(one);
        else if ('error' in end) one.reject(end.error);
        else one.resolve(end.value);
      });
    } catch (error) {
      const separate = batch.length > 1 && this.separable(error);
      for (const one of batch) {
        if (separate) this.runAlone(one);
        else one.reject(error);
      }
    }
  }

  private runAlone(one: Waiting<T, R>): void {
    void this.limited(this.alone(one.item)).then(
      (value) => one.resolve(value),
      (error: unknown) => one.reject(error),
    );
  }

  private async limited<V>(work: Promise<V>): Promise<V> {
    try {
      return await within(this.limitMs, work);
    } catch (error) {
      throw error instanceof TimeLimitError ? new BatchOverdueError(error.message) : error;
    }
  }
}
