import { jest } from '@jest/globals';
import { LeasedWorker, type Claimed, type LeasedWork } from '../../libs/payment-acceptance/src/common/leased-worker.js';
import { PaymentLogger } from '../../libs/payment-acceptance/src/common/payment-logger.js';

/** A queue of items, each of which ends when the test says so. */
export class Work implements LeasedWork<string> {
  readonly queue: string[] = [];
  readonly started: string[] = [];
  readonly limits: number[] = [];
  readonly signals = new Map<string, AbortSignal>();
  private readonly ends = new Map<string, PromiseWithResolversLike>();
  private readonly waiting: { ready: () => boolean; go: () => void }[] = [];
  claimError: Error | undefined;
  nextMs: number | null = null;
  private over = false;

  claim(limit: number): Promise<Claimed<string>> {
    this.limits.push(limit);
    this.notify();
    if (this.claimError) return Promise.reject(this.claimError);
    return Promise.resolve({ items: this.queue.splice(0, limit), nextMs: this.nextMs });
  }

  fieldsOf = (item: string) => ({ deliveryId: item });

  process(item: string, stopping: AbortSignal): Promise<void> {
    this.started.push(item);
    this.signals.set(item, stopping);
    if (this.over) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.ends.set(item, { resolve, reject });
      this.notify();
    });
  }

  end(item: string, error?: Error): void {
    const end = this.ends.get(item);
    if (error) end?.reject(error);
    else end?.resolve();
  }

  /** Ends all items, and from now on each at once. */
  endAll(): void {
    this.over = true;
    for (const item of this.ends.keys()) this.end(item);
  }

  /** Resolves once the condition holds. */
  until(ready: () => boolean): Promise<void> {
    return ready() ? Promise.resolve() : new Promise((go) => this.waiting.push({ ready, go }));
  }

  private notify(): void {
    for (const { ready, go } of this.waiting) if (ready()) go();
  }
}

interface PromiseWithResolversLike {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Stops every worker of the test; a test may add its own. */
export const stops: (() => Promise<void>)[] = [];

export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

export function setUp(concurrency = 2, pollMs = 3_600_000) {
  const work = new Work();
  const logger = new PaymentLogger('test');
  const logged = jest.spyOn(logger, 'write').mockImplementation(() => undefined);
  const worker = new LeasedWorker(work, { concurrency, pollMs, shutdownTimeoutMs: 10_000 }, logger);
  stops.push(() => {
    work.endAll();
    return worker.stop();
  });
  return { work, logged, worker };
}

/** Runs the callbacks of all settled promises. */
export const turn = () => new Promise((resolve) => setImmediate(resolve));
