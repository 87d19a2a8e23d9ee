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

/** One request as received, and its answer. Tokens are cut to their first characters. */
export interface ReceivedRequest {
  /** Counts up from 1. */
  readonly id: number;
  /** When it arrived, by the sandbox's clock. */
  readonly at: Instant;
  readonly method: string;
  /** Path and query string as sent. */
  readonly address: string;
  /** Null if the address is not part of the interface. */
  readonly operation: ApiOperation | null;
  readonly headers: readonly { name: string; value: string }[];
  /** The first 8 KiB of the body. */
  body: string;
  /** Size of the whole body. */
  bodyBytes: number;
  /** The shop of the bearer token; null if it belongs to none, or was not checked. */
  shopId: string | null;
  orderId: string | null;
  billId: string | null;
  /** The faults that hit it. */
  faults: string[];
  /** What was wrong with it, in one sentence; null if nothing was. */
  problem: string | null;
  /** What was odd about it but no reason to refuse it, in one sentence; null if nothing was. */
  remark: string | null;
  /** The HTTP status of the answer; null while there is none, or if the connection was reset. */
  status: number | null;
  /** The first 8 KiB of the answer's body; null while there is none, or if the connection was reset. */
  answer: string | null;
  /** From the arrival of the request to its answer or the reset of the connection; null until then. */
  durationMs: number | null;
}

/** Holds back the API's answers: requests are served, but their answers wait. */
export interface AnswerHold {
  /** Releases the answers and ends the hold. */
  release(): void;
  /** Resolves when `count` answers have been held back (default 1). */
  reached(count?: number): Promise<void>;
}

const MAX_REQUESTS = 10_000;
const MAX_RECEIVED = 500;

@Injectable()
export class RequestLog implements BeforeApplicationShutdown {
  /** Oldest first, as are those below. */
  readonly requests: ApiRequest[] = [];
  readonly received: ReceivedRequest[] = [];
  private receivedCount = 0;
  private readonly holds = new Set<Hold>();

  add(operation: ApiOperation, at: Instant): ApiRequest {
    const request: ApiRequest = { operation, at, billId: null, orderId: null, faults: [], status: null };
    this.requests.push(request);
    if (this.requests.length > MAX_REQUESTS) this.requests.shift();
    return request;
  }

  receive(request: Pick<ReceivedRequest, 'at' | 'method' | 'address' | 'operation' | 'headers'>): ReceivedRequest {
    this.receivedCount += 1;
    const received: ReceivedRequest = {
      id: this.receivedCount,
      ...request,
      body: '',
      bodyBytes: 0,
      shopId: null,
      orderId: null,
      billId: null,
      faults: [],
      problem: null,
      remark: null,
      status: null,
      answer: null,
      durationMs: null,
    };
    this.received.push(received);
    if (this.received.length > MAX_RECEIVED) this.received.shift();
    return received;
  }

  hold(operation?: ApiOperation): AnswerHold {
    const hold = new Hold(operation, () => this.holds.delete(hold));
    this.holds.add(hold);
    return hold;
  }

  async passHolds(operation: ApiOperation): Promise<void> {
    for (const hold of this.holds) if ((hold.operation ?? operation) === operation) await hold.wait();
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
    readonly operation: ApiOperation | undefined,
    private readonly end: () => void,
  ) {}

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
