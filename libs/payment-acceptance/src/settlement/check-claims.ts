import { Inject, Injectable } from '@nestjs/common';
import { CheckRequests } from '../client/check-requests.js';
import { describeError, errorType } from '../common/errors.js';
import type { ClaimResult } from '../common/leased-worker.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { FollowedShops } from './followed-shops.js';
import { CheckStore } from './storage/check.store.js';

/** Used if more is due than could be claimed, because of the rate limit or another instance. */
const RETRY_POLL_MS = 100;

/** Decides which bills are checked next, within the free slots and each shop's rate. */
@Injectable()
export class CheckClaims {
  private readonly logger = new PaymentLogger('PaymentChecks');

  constructor(
    private readonly checks: CheckStore,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  async claim(limit: number): Promise<ClaimResult<ClaimedBill>> {
    const { shops: due, nextMs } = await this.followed.findDue();
    // A shop without free slots is polled again when one of its requests ends.
    const shops = due.filter((shop) => this.remainingFor(shop) > 0);
    const { items, isFull } = await this.claimFromShops(shops, limit);
    const isPaused = due.some((shop) => this.requests.isPaused(shop));
    const againMs = shops.length > 0 || isPaused ? RETRY_POLL_MS : nextMs;
    return { items, nextMs: againMs, isFull: isFull || shops.length < due.length };
  }

  private remainingFor(shop: string): number {
    return this.requests.free(shop, this.followed.count);
  }

  private async claimFromShops(
    shops: readonly string[],
    limit: number,
  ): Promise<{ readonly items: readonly ClaimedBill[]; readonly isFull: boolean }> {
    const claimed: ClaimedBill[] = [];
    let isFull = false;
    try {
      for await (const shop of this.followed.settingsOf(shops)) {
        const { name } = shop;
        const requestsPerSecond = this.requests.requestsPerSecond(shop);
        const limits = {
          limit: Math.min(limit - claimed.length, this.remainingFor(name)),
          leaseMs: this.options.leases.checkMs,
          requestsPerSecond,
        };
        if (limits.limit <= 0) {
          isFull = true;
          continue;
        }
        const bills = await this.checks.claim(name, this.random.uuid(), limits);
        for (const bill of bills) this.requests.acquire(bill.shop);
        claimed.push(...bills);
        isFull ||= bills.length === limits.limit;
        if (claimed.length >= limit) break;
      }
    } catch (error) {
      // Check what is already leased: otherwise it would wait until its lease expires.
      if (claimed.length === 0) throw error;
      const line = `Could not claim the bills of some shops. ${describeError(error)}`;
      this.logger.write('claim-incomplete', line, { error: errorType(error) });
      isFull = true;
    }
    return { items: claimed, isFull };
  }
}
