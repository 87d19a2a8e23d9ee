import { Inject, Injectable } from '@nestjs/common';
import { CheckRequests } from '../client/check-requests.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import type { ClaimResult } from '../common/leased-worker.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import type { HintedBill } from '../common/wake-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { FollowedShops } from './followed-shops.js';
import { CheckStore } from './storage/check.store.js';

/** Used if more is due than could be claimed, because of the rate limit or another instance. */
const RETRY_POLL_MS = 100;

/** For this long after a shop's rate was used up, its hinted and scheduled bills take turns, and none is named. */
const RATE_EXHAUSTED_MS = 1_000;

/**
 * Decides which bills are checked next, within the free slots and each shop's rate: those that callbacks stored by this
 * instance have just named, without a search if possible, and otherwise those that a search finds due.
 */
@Injectable()
export class CheckClaims {
  private readonly logger = new PaymentLogger('PaymentChecks');
  /** When to search for due bills at the latest, by the clock's `elapsed()`. */
  private nextScanAt = 0;
  /** Whether bills are waiting that only a search finds: left over by a check, or for lack of slots. */
  private mustScan = false;
  private readonly rateExhaustedUntil = new Map<string, number>();
  private hintedBills: (HintedBill | undefined)[] = [];

  constructor(
    private readonly checks: CheckStore,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** @param bill `undefined` if unknown, as in signals from other instances */
  addHint(bill: HintedBill | undefined): void {
    this.hintedBills.push(bill);
  }

  /** Whether a callback that the claim does not answer has come since the last claim began. */
  hasNewHint(claim: ClaimedBill): boolean {
    return this.hintedBills.some((bill) => concerns(bill, claim) && isNew(bill, claim));
  }

  requestScan(): void {
    this.mustScan = true;
  }

  async claim(limit: number): Promise<ClaimResult<ClaimedBill>> {
    const { hintedBills } = this;
    this.hintedBills = [];
    const hintedByShop = this.groupByShop(hintedBills, limit);
    // Checks that end meanwhile may set it again.
    if (!hintedByShop) this.mustScan = false;
    try {
      return await (hintedByShop ? this.claimNamed(limit, hintedByShop) : this.claimDue(limit));
    } catch (error) {
      this.mustScan = true;
      throw error;
    }
  }

  /**
   * The hinted bills by shop, if they can be claimed without a search for other due bills. They must leave a slot free:
   * if slots or requests are scarce, hinted and scheduled bills take turns, which requires a search.
   */
  private groupByShop(
    hintedBills: readonly (HintedBill | undefined)[],
    limit: number,
  ): ReadonlyMap<string, readonly HintedBill[]> | undefined {
    const now = this.clock.elapsed();
    if (hintedBills.length === 0 || hintedBills.length >= limit || this.mustScan || now >= this.nextScanAt)
      return undefined;
    const hintedByShop = new Map<string, HintedBill[]>();
    for (const bill of hintedBills) {
      if (!bill || !this.followed.follows(bill.shop) || now < (this.rateExhaustedUntil.get(bill.shop) ?? 0))
        return undefined;
      const ofShop = hintedByShop.get(bill.shop) ?? [];
      hintedByShop.set(bill.shop, [...ofShop, bill]);
      if (ofShop.length + 1 >= this.remainingFor(bill.shop)) return undefined;
    }
    return hintedByShop;
  }

  private async claimNamed(
    limit: number,
    named: ReadonlyMap<string, readonly HintedBill[]>,
  ): Promise<ClaimResult<ClaimedBill>> {
    const now = this.clock.elapsed();
    const { items, isFull } = await this.claimFromShops([...named.keys()], limit, named);
    const isClaimed = (bill: HintedBill): boolean => items.some((claim) => concerns(bill, claim));
    // The others cannot be claimed yet, or not by this instance: a search finds out when they can.
    if (![...named.values()].flat().every(isClaimed)) this.nextScanAt = Math.min(this.nextScanAt, now + RETRY_POLL_MS);
    this.mustScan ||= isFull;
    return { items, nextMs: Math.max(0, this.nextScanAt - this.clock.elapsed()), isFull };
  }

  private async claimDue(limit: number): Promise<ClaimResult<ClaimedBill>> {
    const { shops: due, nextMs } = await this.followed.findDue();
    // A shop without free slots is polled again when one of its requests ends.
    const shops = due.filter((shop) => this.remainingFor(shop) > 0);
    const { items, isFull } = await this.claimFromShops(shops, limit);
    const isPaused = due.some((shop) => this.requests.isPaused(shop));
    const againMs = shops.length > 0 || isPaused ? RETRY_POLL_MS : nextMs;
    this.nextScanAt = this.clock.elapsed() + Math.min(againMs ?? Infinity, this.options.pollMs);
    const lacksPlaces = isFull || shops.length < due.length;
    this.mustScan ||= lacksPlaces;
    return { items, nextMs: againMs, isFull: lacksPlaces };
  }

  private remainingFor(shop: string): number {
    return this.requests.free(shop, this.followed.count);
  }

  /** @param named claims only these bills of the shops */
  private async claimFromShops(
    shops: readonly string[],
    limit: number,
    named?: ReadonlyMap<string, readonly HintedBill[]>,
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
        const { bills, isSpent } = await this.checks.claim(name, this.random.uuid(), limits, named?.get(name));
        for (const bill of bills) this.requests.acquire(bill.shop);
        claimed.push(...bills);
        isFull ||= bills.length === limits.limit;
        if (isSpent) this.rateExhaustedUntil.set(name, this.clock.elapsed() + RATE_EXHAUSTED_MS);
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

export function concerns(hinted: HintedBill | undefined, { shop, billId, intentId }: ClaimedBill): boolean {
  if (!hinted) return true;
  return hinted.shop === shop && (hinted.billId === billId || hinted.intentId === intentId);
}

export function isNew(hinted: HintedBill | undefined, { hints }: ClaimedBill): boolean {
  return !hints.some(({ id }) => id === hinted?.id);
}
