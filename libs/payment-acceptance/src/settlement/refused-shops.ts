import type { PaymentLogger } from '../common/payment-logger.js';
import type { ClaimedBill } from '../domain/claim.js';
import { isRefusalOfBill, isRefusalOfShop } from './check-errors.js';
import type { ShopStore } from './storage/shop.store.js';

/** How many different bills must get a refusal of their shop before the shop counts as refused. */
const MIN_REFUSED_BILLS = 3;

/**
 * When this limit is reached, all bills of the shop remembered as refused alone are forgotten and must be found out
 * again.
 */
const MAX_REFUSED_ALONE = 1_000;

interface ShopRefusals {
  /** Bills refused since the service last answered for a bill of the shop. */
  readonly recentlyRefused: Set<string>;
  /** Bills that were refused although the service then answered for another bill of the shop. */
  readonly refusedAlone: Set<string>;
}

/**
 * Bills for which the service answered that it does not know their shop, or has banned it. If it answers for other
 * bills of the shop meanwhile, the refusal concerns only the refused bill; if it refuses several bills and answers for
 * none, it concerns the shop.
 */
export class RefusedBills {
  private readonly ofShops = new Map<string, ShopRefusals>();

  /** Returns what the refusal concerns; `undecided` after too few bills. */
  recordRefusal(shop: string, intentId: string): 'bill' | 'shop' | 'undecided' {
    const { recentlyRefused, refusedAlone } = this.refusedOf(shop);
    if (refusedAlone.has(intentId)) return 'bill';
    if (recentlyRefused.size < MIN_REFUSED_BILLS) recentlyRefused.add(intentId);
    return recentlyRefused.size >= MIN_REFUSED_BILLS ? 'shop' : 'undecided';
  }

  /** The service has answered for a bill of the shop, so it accepts the shop. Returns whether that counted as refused. */
  recordAnswer(shop: string, intentId: string): boolean {
    if (!this.ofShops.has(shop)) return false;
    const { recentlyRefused, refusedAlone } = this.refusedOf(shop);
    const wasRefused = recentlyRefused.size >= MIN_REFUSED_BILLS;
    if (refusedAlone.size >= MAX_REFUSED_ALONE) refusedAlone.clear();
    for (const refused of recentlyRefused) refusedAlone.add(refused);
    recentlyRefused.clear();
    refusedAlone.delete(intentId);
    if (refusedAlone.size === 0) this.ofShops.delete(shop);
    return wasRefused;
  }

  private refusedOf(shop: string): ShopRefusals {
    const refused = this.ofShops.get(shop) ?? { recentlyRefused: new Set(), refusedAlone: new Set() };
    this.ofShops.set(shop, refused);
    return refused;
  }
}

/** Bills of refused shops wait, except for one probe a minute. */
export class RefusedShops {
  private readonly bills = new RefusedBills();

  constructor(
    private readonly store: ShopStore,
    private readonly logger: PaymentLogger,
  ) {}

  async accept({ shop, intentId, shopRefused }: ClaimedBill): Promise<void> {
    const wasRefused = this.bills.recordAnswer(shop, intentId);
    if (!shopRefused && !wasRefused) return;
    await this.store.accept(shop);
    this.logger.write('shop-accepted', `The service accepts shop "${shop}" again.`, { shop });
  }

  /** Returns what the service refuses, if anything: the whole shop, or this very bill. */
  async recordFailure(error: unknown, claim: ClaimedBill, reason: string): Promise<'shop' | 'bill' | undefined> {
    if (!isRefusalOfShop(error)) return isRefusalOfBill(error) ? 'bill' : undefined;
    const concerns = this.bills.recordRefusal(claim.shop, claim.intentId);
    if (concerns === 'bill') return concerns;
    if (concerns === 'undecided' && !claim.shopRefused) return undefined;
    const { shop } = claim;
    if (await this.store.refuse(shop, reason)) {
      const line = `The service refuses shop "${shop}": its bills wait, and it is probed every minute. ${reason}`;
      this.logger.write('shop-refused', line, { shop });
    }
    return 'shop';
  }
}
