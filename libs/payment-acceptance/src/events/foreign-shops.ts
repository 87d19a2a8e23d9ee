import type { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { DynamicShopError } from '../config/shop.errors.js';

/** How long a shop that is not known here is taken for another application's before it is asked about again. */
const FOREIGN_MS = 60_000;

/**
 * Shops whose events this instance does not hand over, since it does not know them: those of another application on the
 * same tables, and those that were removed. Their deliveries are left to instances that know them.
 */
export class ForeignShops {
  private readonly logger = new PaymentLogger('PaymentDeliveries');
  /** When each was met last. */
  private readonly metAt = new Map<string, number>();
  private readonly said = new Set<string>();

  constructor(
    private readonly shops: ShopRegistry,
    private readonly clock: PaymentClock,
  ) {}

  /** Those that are not to be claimed for. */
  names(): string[] {
    const now = this.clock.now().getTime();
    for (const [name, at] of this.metAt) if (now < at || now - at >= FOREIGN_MS) this.metAt.delete(name);
    return [...this.metAt.keys()];
  }

  /** Whether a shop is none of this instance's. While the shop resolver fails, nobody knows, and its events go on. */
  async meet(name: string): Promise<boolean> {
    try {
      if (await this.shops.find(name)) return false;
    } catch (error) {
      if (!(error instanceof DynamicShopError)) throw error;
      return false;
    }
    this.metAt.set(name, this.clock.now().getTime());
    if (!this.said.has(name)) {
      this.said.add(name);
      this.logger.error(
        `This instance knows no shop "${name}" (any more). Its events are kept, and left to instances that know it. ` +
          'Another application on the same database needs a schema of its own (option "schema").',
        { shop: name },
      );
    }
    return true;
  }
}
