import type { PaymentShopOptions, PaymentShopResolver } from 'nestjs-payment-acceptance';

/** A host's own table of shops, as its resolver reads it; what is asked of it is written down. */
export class ShopTable implements PaymentShopResolver {
  /** Address of the service, once it is known. */
  url = 'http://127.0.0.1:1';
  readonly rows = new Map<string, Partial<PaymentShopOptions>>();
  readonly asked: string[] = [];
  /** What each call waits for first, or fails with. */
  trouble: (() => Promise<void>) | undefined;

  async find(name: string): Promise<PaymentShopOptions | null> {
    this.asked.push(name);
    await this.trouble?.();
    const row = this.rows.get(name);
    return row ? { shopId: `shop-${name}`, apiToken: '', apiBaseUrl: this.url, requestsPerSecond: 1000, ...row } : null;
  }

  async list(): Promise<string[]> {
    this.asked.push('*');
    await this.trouble?.();
    return [...this.rows.keys()];
  }

  /** How often something was asked since the last call. */
  count(name: string): number {
    return this.asked.splice(0).filter((each) => each === name).length;
  }
}
