import type { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { PaymentShopError } from '../config/shop.errors.js';

const FOREIGN_SHOP_TTL_MS = 60_000;

/**
 * Shops whose events this instance does not deliver, because it does not know them: shops of another application on the
 * same tables, and removed shops. Their deliveries are left to instances that know them.
 */
export class ForeignShops {
  private readonly logger = new PaymentLogger('PaymentDeliveries');
  /** When each foreign shop was last looked up. */
  private readonly seenAt = new Map<string, number>();
  private readonly logged = new Set<string>();

  constructor(
    private readonly shops: ShopRegistry,
    private readonly clock: PaymentClock,
  ) {}

  names(): string[] {
    const now = this.clock.elapsed();
    for (const [name, seenAt] of this.seenAt) if (now - seenAt >= FOREIGN_SHOP_TTL_MS) this.seenAt.delete(name);
    return [...this.seenAt.keys()];
  }

  /** While the shop resolver fails, no shop counts as foreign, so events are delivered. */
  async isForeign(name: string): Promise<boolean> {
    try {
      const found = this.shops.find(name);
      if (this.shops.peek(name)) {
        // Deliveries do not wait for the shop resolver: those made meanwhile do not see that the shop has gone.
        found.catch(() => undefined);
        return false;
      }
      if (await found) return false;
    } catch (error) {
      if (!(error instanceof PaymentShopError)) throw error;
      return false;
    }
    this.seenAt.set(name, this.clock.elapsed());
    if (!this.logged.has(name)) {
      this.logged.add(name);
      this.logger.write(
        'shop-foreign',
        `This instance does not, or no longer, know shop "${name}". Its events are kept for instances that do. ` +
          'Another application on the same database needs its own schema (option "schema").',
        { shop: name },
      );
    }
    return true;
  }
}
