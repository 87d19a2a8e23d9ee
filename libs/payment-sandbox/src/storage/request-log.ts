import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Instant } from '../model/entities.js';

export type ApiOperation = 'create' | 'payments';

/** One request to the API, for assertions. */
export interface ApiRequest {
  readonly operation: ApiOperation;
  /** When it arrived, by the sandbox's clock. */
  readonly at: Instant;
  /** The bill requested or created; null if there is none. */
  billId: string | null;
  /** The `order_id` of a creation; null if there is none. */
  orderId: string | null;
  /** The faults that hit it. */
  faults: string[];
  /** The HTTP status of the answer; null while there is none, or if the connection was reset. */
  status: number | null;
}

/** Holds back the API's answers: requests are served, but their answers wait. */
export interface AnswerHold {
  /** Releases the answers and ends the hold. */
  release(): void;
  /** Resolves when `count` answers have been held back (default 1). */
  reached(count?: number): Promise<void>;
}

const MAX_REQUESTS = 10_000;

@Injectable()
export class RequestLog implements BeforeApplicationShutdown {
  readonly requests: ApiRequest[] = [];
  private readonly holds = new Set<Hold>();

  add(operation: ApiOperation, at: Instant): ApiRequest {
    const request: ApiRequest = { operation, at, billId: null, orderId: null, faults: [], status: null };
    this.requests.push(request);
    if (this.requests.length > MAX_REQUESTS) this.requests.shift();
    return request;
  }

  hold(operation?: ApiOperation): AnswerHold {
    const hold = new Hold(operation, () => this.holds.delete(hold));
    this.holds.add(hold);
    return hold;
  }

  async passHolds(operation: ApiOperation): Promise<void> {
    for (const hold of this.holds) if (hold.concerns(operation)) await hold.wait();
  }

  beforeApplicationShutdown(): void {
    for (const hold of this.holds) hold.release();
  }
}

class Hold implements AnswerHold {
  private held = 0;
  private resolveReleased: () => void = () => undefined;
  private readonly released = new Promise<void>((resolve) => (this.resolveReleased = resolve));
  private readonly watchers: { count: number; resolve: () => void }[] = [];

  constructor(
    private readonly operation: ApiOperation | undefined,
    private readonly end: () => void,
  ) {}

  concerns(operation: ApiOperation): boolean {
    return this.operation === undefined || this.operation === operation;
  }

  wait(): Promise<void> {
    this.held += 1;
    for (const watcher of this.watchers) if (this.held >= watcher.count) watcher.resolve();
    return this.released;
  }

  reached(count = 1): Promise<void> {
    if (this.held >= count) return Promise.resolve();
    return new Promise((resolve) => this.watchers.push({ count, resolve }));
  }

  release(): void {
    this.end();
    this.resolveReleased();
  }
}
