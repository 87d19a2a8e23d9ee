import { Inject, Injectable } from '@nestjs/common';
import { PaymentServiceClient } from './payment-service.client.js';
import { PaymentServiceNetworkError, PaymentServiceUnavailableError } from './service.errors.js';
import { PaymentClock } from '../common/clock.js';
import { FairShare } from '../common/fair-share.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { IntentId } from '../domain/ids.js';
import type { PaymentList } from '../domain/payment.js';
import { AdaptiveLimiter, type RequestEnd } from './adaptive-limiter.js';

/** The requests to one shop's service, and its capacity as currently estimated. */
export interface CheckWorkload {
  readonly shop: string;
  /** Requests in flight. */
  readonly running: number;
  /** Maximum requests in flight. */
  readonly limit: number;
  /** Maximum requests a second. */
  readonly requestsPerSecond: number;
  /** End of the pause that the service has asked for (ISO 8601, UTC); `null` without one. */
  readonly pausedUntil: string | null;
}

const MAX_POSTPONED = 1_000;

const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Limits this instance's requests for the payments of bills, shop by shop, to what the shop's service can take. If
 * there are several shops, each gets at most half of the concurrency, and so do all shops at one host of the service if
 * there are several hosts: what hangs leaves the rest to the others.
 */
@Injectable()
export class CheckRequests {
  private readonly share = new FairShare(this.options.checks.concurrency);
  private readonly hostShare = new FairShare(this.options.checks.concurrency);
  /** The host of each shop's service, as of its requests in flight. */
  private readonly hosts = new Map<string, string>();
  private readonly limiters = new Map<string, AdaptiveLimiter>();
  private readonly postponed = new Map<string, IntentId[]>();

  constructor(
    private readonly client: PaymentServiceClient,
    private readonly shops: ShopRegistry,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** How many more bills of a shop may be claimed. @param shops how many shops there are */
  free(shop: string, shops: number): number {
    return Math.min(
      this.share.remainingFor(shop, shops),
      this.hostShare.remainingFor(this.hostOf(shop), this.shops.hostCount),
      this.limiters.get(shop)?.free ?? Infinity,
    );
  }

  /**
   * How many more requests may start while a slot stays free for checks of the shop's bills; at least 1 if it is idle.
   */
  spareCapacity(shop: string, shops: number): number {
    const limiter = this.limiters.get(shop);
    const free = this.free(shop, shops);
    const isBusy = limiter !== undefined && !limiter.isIdle;
    if (isBusy && (limiter.isPaused || limiter.isDown || free < Math.min(2, limiter.maxConcurrency))) return 0;
    return Math.max(1, free - 1);
  }

  isPaused(shop: string): boolean {
    return this.limiters.get(shop)?.isPaused ?? false;
  }

  /** How many requests a second the shop's service can take, up to the limit in the shop's settings. */
  requestsPerSecond({ name, requestsPerSecond, apiBaseUrl }: Shop): number {
    const existing = this.limiters.get(name);
    if (!existing?.running) this.hosts.set(name, new URL(apiBaseUrl).host);
    const { concurrency } = this.options.checks;
    const limiter = existing ?? new AdaptiveLimiter(concurrency, requestsPerSecond, () => this.clock.elapsed());
    if (existing) existing.maxPerSecond = requestsPerSecond;
    else this.limiters.set(name, limiter);
    return limiter.requestsPerSecond;
  }

  /** Shops with a request in the last minute. */
  workload(): CheckWorkload[] {
    return [...this.limiters]
      .filter(([, limiter]) => !limiter.isIdle)
      .map(([shop, { running, maxConcurrency, requestsPerSecond, pauseLeftMs }]) => ({
        ...{ shop, running, requestsPerSecond },
        limit: maxConcurrency,
        pausedUntil: pauseLeftMs === 0 ? null : new Date(this.clock.now().getTime() + pauseLeftMs).toISOString(),
      }))
      .sort((a, b) => (a.shop < b.shop ? -1 : 1));
  }

  acquire(shop: string): void {
    this.share.acquire(shop);
    this.hostShare.acquire(this.hostOf(shop));
    this.limiters.get(shop)?.acquire();
  }

  release(shop: string): void {
    this.share.release(shop);
    this.hostShare.release(this.hostOf(shop));
    this.limiters.get(shop)?.release();
  }

  private hostOf(shop: string): string {
    return this.hosts.get(shop) ?? '';
  }

  /** While the service is down, remembers a bill whose check got no answer and which now waits out its backoff. */
  notePostponed({ shop, intentId }: ClaimedBill): void {
    if (!this.limiters.get(shop)?.isDown) return;
    const bills = this.postponed.get(shop) ?? [];
    if (bills.push(intentId) > MAX_POSTPONED) bills.shift();
    this.postponed.set(shop, bills);
  }

  /** Takes the bills that need not wait any longer, because the service of their shop is back. */
  takePostponed(shop: string): readonly IntentId[] {
    const bills = this.postponed.get(shop);
    if (!bills || this.limiters.get(shop)?.isDown) return [];
    this.postponed.delete(shop);
    return [...new Set(bills)];
  }

  /** Makes one attempt only: a lease might expire during a backoff here, and the schedule repeats the check. */
  async read(shop: Shop, { billId }: ClaimedBill, signal: AbortSignal): Promise<PaymentList> {
    const end = this.limiters.get(shop.name)?.begin();
    try {
      const listed = await this.client.readPaymentList(shop, billId, { signal, attempts: 1 });
      end?.('answered');
      return listed;
    } catch (error) {
      end?.(endOf(error), retryAfter(error));
      throw error;
    }
  }
}

function endOf(error: unknown): RequestEnd {
  if (error instanceof PaymentServiceUnavailableError) return error.status === 429 ? 'too-many' : 'failed';
  return error instanceof PaymentServiceNetworkError ? 'failed' : 'answered';
}

/** The pause that the service asked for, in milliseconds, at most an hour; 0 if it asked for none. */
export function retryAfter(error: unknown): number {
  return error instanceof PaymentServiceUnavailableError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;
}
