import type { PaymentLogger } from '../common/payment-logger.js';
import type { ClaimedBill } from '../domain/claim.js';
import { isRefusalOfBill, isRefusalOfShop } from './check-errors.js';
import { RefusedBills } from './refused-bills.js';
import type { ShopStore } from './storage/shop.store.js';

/** How often a shop that the service refuses is probed. */
export const PROBE_MS = 60_000;

/** Which shops the service refuses. Their bills wait, except for one probe a minute. */
export class RefusedShops {
  private readonly bills = new RefusedBills();

  constructor(
    private readonly store: ShopStore,
    private readonly logger: PaymentLogger,
  ) {}

  /** The service has answered a bill of the shop, so it accepts the shop. */
  async accept({ shop, intentId, shopRefused }: ClaimedBill): Promise<void> {
    this.bills.answered(shop, intentId);
    if (!shopRefused) return;
    await this.store.accept(shop);
    this.logger.write('shop-accepted', `The service accepts shop "${shop}" again.`, { shop });
  }

  /** What the failure of a check refuses, if anything: the whole shop, or this very bill. */
  async refusedBy(error: unknown, claim: ClaimedBill, reason: string): Promise<'shop' | 'bill' | undefined> {
    if (!isRefusalOfShop(error)) return isRefusalOfBill(error) ? 'bill' : undefined;
    const concerns = this.bills.refused(claim.shop, claim.intentId);
    if (concerns !== 'shop' && !claim.shopRefused) return concerns === 'bill' ? 'bill' : undefined;
    await this.refuse(claim.shop, reason);
    return 'shop';
  }

  private async refuse(shop: string, reason: string): Promise<void> {
    if (!(await this.store.refuse(shop, reason, PROBE_MS))) return;
    const line = `The service refuses shop "${shop}": its bills wait, and it is probed every minute. ${reason}`;
    this.logger.write('shop-refused', line, { shop });
  }
}
