import { Inject, Injectable } from '@nestjs/common';
import { CheckRequests } from '../client/check-requests.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import type { Claimed } from '../common/leased-worker.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import type { HintedBill } from '../common/wake-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { FollowedShops } from './followed-shops.js';
import { PROBE_MS } from './refused-shops.js';
import { CheckStore } from './storage/check.store.js';

/** Pause before the next poll if more is due than could be claimed, because of the rate limit or another instance. */
const AGAIN_MS = 100;

/** How long the bills of a shop whose rate was used up are claimed by turns, hinted and scheduled ones, and never by name. */
const SPENT_MS = 1_000;

/**
 * Decides which bills are checked next: those that callbacks stored here have just named, by name, and else those that a look
 * finds due; within places, and each shop's rate.
 */
@Injectable()
export class CheckClaims {
  private readonly logger = new PaymentLogger('PaymentChecks');
  /** When to look for what is due, at the latest: `elapsed()` of the clock. */
  private lookAt = 0;
  /** Whether something waits that only a look finds: what a check has left, or what there was no place for. */
  private mustLook = false;
  /** Until when each shop's rate counts as used up. */
  private readonly spentUntil = new Map<string, number>();
  /** What has been told since the last claim began. */
  private told: (HintedBill | undefined)[] = [];

  constructor(
    private readonly checks: CheckStore,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** @param bill one that is hinted; `undefined` for unknown ones, as in what other instances tell */
  tell(bill: HintedBill | undefined): void {
    this.told.push(bill);
  }

  /** Whether a callback that the claim does not answer has been told since the last claim began. */
  hasNewsOf(claim: ClaimedBill): boolean {
    return this.told.some((bill) => concerns(bill, claim) && isNew(bill, claim));
  }

  /** The next claim looks for what is due, whatever is told. */
  lookNext(): void {
    this.mustLook = true;
  }

  /** Claims up to `limit` bills. */
  async claim(limit: number): Promise<Claimed<ClaimedBill>> {
    const { told } = this;
    this.told = [];
    const named = this.namedBy(told, limit);
    if (named) return this.claimNamed(limit, named);
    // Set again by checks that end meanwhile.
    this.mustLook = false;
    try {
      return await this.claimDue(limit);
    } catch (error) {
      this.mustLook = true;
      throw error;
    }
  }

  /**
   * The hinted bills by their shops, if they can be claimed without looking for what else is due. They must leave a place: where
   * places or requests are scarce, hinted and scheduled bills take turns, which only a look can do.
   */
  private namedBy(
    told: readonly (HintedBill | undefined)[],
    limit: number,
  ): ReadonlyMap<string, readonly HintedBill[]> | undefined {
    const now = this.clock.elapsed();
    if (told.length === 0 || told.length >= limit || this.mustLook || now >= this.lookAt) return undefined;
    const named = new Map<string, HintedBill[]>();
    for (const bill of told) {
      if (!bill || !this.followed.follows(bill.shop) || now < (this.spentUntil.get(bill.shop) ?? 0)) return undefined;
      const ofShop = named.get(bill.shop) ?? [];
      named.set(bill.shop, [...ofShop, bill]);
      if (ofShop.length + 1 >= this.left(bill.shop)) return undefined;
    }
    return named;
  }

  private async claimNamed(
    limit: number,
    named: ReadonlyMap<string, readonly HintedBill[]>,
  ): Promise<Claimed<ClaimedBill>> {
    const now = this.clock.elapsed();
    const { items, isFull } = await this.claimFromShops([...named.keys()], limit, named);
    const isClaimed = (bill: HintedBill): boolean => items.some((claim) => concerns(bill, claim));
    // The others cannot be claimed yet, or not by this instance: a look finds out when they can.
    if (![...named.values()].flat().every(isClaimed)) this.lookAt = Math.min(this.lookAt, now + AGAIN_MS);
    this.mustLook ||= isFull;
    return { items, nextMs: Math.max(0, this.lookAt - this.clock.elapsed()), isFull };
  }

  private async claimDue(limit: number): Promise<Claimed<ClaimedBill>> {
    const { shops: due, nextMs } = await this.followed.findDue(PROBE_MS);
    // A shop without free slots is polled again when one of its requests ends.
    const shops = due.filter((shop) => this.left(shop) > 0);
    const { items, isFull } = await this.claimFromShops(shops, limit);
    const isPaused = due.some((shop) => this.requests.isPaused(shop));
    const againMs = shops.length > 0 || isPaused ? AGAIN_MS : nextMs;
    this.lookAt = this.clock.elapsed() + Math.min(againMs ?? Infinity, this.options.pollMs);
    const lacksPlaces = isFull || shops.length < due.length;
    this.mustLook ||= lacksPlaces;
    return { items, nextMs: againMs, isFull: lacksPlaces };
  }

  /** How many more bills of a shop may be claimed. */
  private left(shop: string): number {
    return this.requests.free(shop, this.followed.count);
  }

  /** @param named only these bills of the shops */
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
        const limits = {
          limit: Math.min(limit - claimed.length, this.left(name)),
          leaseMs: this.options.leases.checkMs,
          requestsPerSecond: this.requests.perSecond(shop),
          probeMs: PROBE_MS,
        };
        const { bills, isSpent } = await this.checks.claim(name, this.random.uuid(), limits, named?.get(name));
        for (const bill of bills) this.requests.take(bill.shop);
        claimed.push(...bills);
        isFull ||= bills.length === limits.limit;
        if (isSpent) this.spentUntil.set(name, this.clock.elapsed() + SPENT_MS);
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

/** Whether a hint may be about the bill of a claim. */
export function concerns(hinted: HintedBill | undefined, { shop, billId, intentId }: ClaimedBill): boolean {
  if (!hinted) return true;
  return hinted.shop === shop && (hinted.billId === billId || hinted.intentId === intentId);
}

/** Whether the claim does not answer the hint. */
export function isNew(hinted: HintedBill | undefined, { hints }: ClaimedBill): boolean {
  return !hints.some(({ id }) => id === hinted?.id);
}
