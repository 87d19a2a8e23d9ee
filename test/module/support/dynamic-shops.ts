import { afterEach, beforeEach, jest } from '@jest/globals';
import { Injectable, Logger, Module } from '@nestjs/common';
import {
  InjectPaymentShop,
  PaymentAcceptanceModule,
  PaymentShop,
  type PaymentAcceptanceService,
  type PaymentShopOptions,
} from 'nestjs-payment-acceptance';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness, type HarnessOptions } from '../../support/harness.js';
import { EffectWriter } from '../../support/orders.js';
import { ShopTable } from '../../support/shop-table.js';

/** The token that {@link DynamicShops.rotate} sets. */
export const NEXT_TOKEN = 'the-next-token-0123456789';
/** How long a shop's settings are cached. */
export const CACHE_MS = 30_000;
/** The shortest time between two lookups of one shop. */
export const GAP_MS = 5_000;
export const MINUTE = 60_000;

@Injectable()
export class Checkout {
  constructor(@InjectPaymentShop('eu') readonly eu: PaymentShop) {}
}
@Module({ imports: [PaymentAcceptanceModule.forFeature('eu')], providers: [Checkout], exports: [Checkout] })
class CheckoutModule {}

/** A host with the shops `main` and `eu`, which a resolver reads from the host's own table. */
export class DynamicShops {
  harness!: Harness;
  table!: ShopTable;
  /** Error lines of the log. */
  logged: string[] = [];

  prepare(): void {
    this.logged = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => void this.logged.push(String(line)));
    this.table = new ShopTable();
    this.table.rows.set('main', { apiToken: MAIN_TOKEN }).set('eu', { apiToken: EU_TOKEN, currency: 'EUR' });
  }

  async start(options: HarnessOptions['options'] = {}): Promise<void> {
    this.harness = await startHarness({
      providers: [EffectWriter],
      imports: [{ module: CheckoutModule }],
      options: { shops: {}, shopResolver: this.table, ...options },
    });
    this.table.url = this.harness.sandboxUrl;
    this.table.asked.length = 0;
  }

  get payments(): PaymentAcceptanceService {
    return this.harness.host.payments;
  }

  /** Ids of the orders that were paid, sorted. */
  async orders(): Promise<string[]> {
    return (await this.harness.effects()).map(({ orderId }) => orderId).sort();
  }

  async billStates(): Promise<string[]> {
    return (await this.harness.host.ledger()).bills.map(({ state }) => state);
  }

  /** Changes a shop's token at the service and in the host's table; the module learns of it only from the resolver. */
  async rotate(shop: 'main' | 'eu', row: Partial<PaymentShopOptions> = {}): Promise<void> {
    await this.harness.sandbox.putShop(`shop-${shop}`, { apiToken: NEXT_TOKEN });
    this.table.rows.set(shop, { apiToken: NEXT_TOKEN, ...row });
  }
}

/** New shops for each test of the surrounding `describe`. The test starts the host. */
export function useDynamicShops(): DynamicShops {
  const shops = new DynamicShops();
  beforeEach(() => shops.prepare());
  afterEach(async () => {
    await shops.harness.close();
    jest.restoreAllMocks();
  });
  return shops;
}
