import { jest } from '@jest/globals';
import {
  LeasedWorker,
  type ClaimResult,
  type LeasedWork,
} from '../../libs/payment-acceptance/src/common/leased-worker.js';
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
  /** Whether items leave work behind. */
  leaves = false;
  isFull = false;
  /** Called as each item begins. */
  began: () => void = () => undefined;
  private over = false;
  private held: Promise<void> | undefined;

  async claim(limit: number): Promise<ClaimResult<string>> {
    this.limits.push(limit);
    this.notify();
    if (this.claimError) throw this.claimError;
    const claimed = { items: this.queue.splice(0, limit), nextMs: this.nextMs, isFull: this.isFull };
    const { held } = this;
    this.held = undefined;
    await held;
    return claimed;
  }

  /** The next claim is answered when the function that this returns is called. */
  holdNextClaim(): () => void {
    let answer = (): void => undefined;
    this.held = new Promise((resolve) => (answer = resolve));
    return () => answer();
  }

  fieldsOf = (item: string) => ({ deliveryId: item });

  process(item: string, stopping: AbortSignal): Promise<boolean> {
    this.began();
    this.started.push(item);
    this.signals.set(item, stopping);
    if (this.over) return Promise.resolve(this.leaves);
    return new Promise((resolve, reject) => {
      this.ends.set(item, { resolve, reject });
      this.notify();
    });
  }

  end(item: string, error?: Error): void {
    const end = this.ends.get(item);
    if (error) end?.reject(error);
    else end?.resolve(this.leaves);
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
  resolve: (leaves: boolean) => void;
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
