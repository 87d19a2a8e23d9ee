import type { PaymentShopOptions, PaymentShopResolver } from 'nestjs-payment-acceptance';

/** A host's own table of shops with a resolver that records its calls. */
export class ShopTable implements PaymentShopResolver {
  /** Address of the service, once known. */
  url = 'http://127.0.0.1:1';
  readonly rows = new Map<string, Partial<PaymentShopOptions>>();
  readonly asked: string[] = [];
  /** The name under which a look-up finds a shop. */
  spelling = (name: string): string => name;
  /** Runs before each call, to delay it or make it fail. */
  trouble: (() => Promise<void>) | undefined;

  async find(name: string): Promise<PaymentShopOptions | null> {
    this.asked.push(name);
    await this.trouble?.();
    const known = this.spelling(name);
    const row = this.rows.get(known);
    return row
      ? { shopId: `shop-${known}`, apiToken: '', apiBaseUrl: this.url, requestsPerSecond: 1000, ...row }
      : null;
  }

  async list(): Promise<string[]> {
    this.asked.push('*');
    await this.trouble?.();
    return [...this.rows.keys()];
  }

  /** How often the name was looked up (`*` for the list) since the last call of `count`. */
  count(name: string): number {
    return this.asked.splice(0).filter((each) => each === name).length;
  }
}
