import { Injectable } from '@nestjs/common';
import type { Instant } from '../model/entities.js';
import type { ApiOperation } from './request-log.js';

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

const MAX_RECEIVED = 500;
const MAX_KEPT_BYTES = 8 * 1024;

@Injectable()
export class ReceivedRequests {
  private readonly requests: ReceivedRequest[] = [];
  private count = 0;

  /** Oldest first. */
  get all(): readonly ReceivedRequest[] {
    return this.requests;
  }

  add(request: Pick<ReceivedRequest, 'at' | 'method' | 'address' | 'operation' | 'headers'>): ReceivedRequest {
    this.count += 1;
    const received: ReceivedRequest = {
      id: this.count,
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
    this.requests.push(received);
    if (this.requests.length > MAX_RECEIVED) this.requests.shift();
    return received;
  }

  get(id: number): ReceivedRequest | undefined {
    return this.requests.find((each) => each.id === id);
  }
}

/** A copy, so that the rest of the bytes can be garbage-collected. */
export function firstOf(bytes: Buffer): string {
  return bytes.subarray(0, MAX_KEPT_BYTES).toString('utf8');
}
