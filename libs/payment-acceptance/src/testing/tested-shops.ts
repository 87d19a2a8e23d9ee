import { randomBytes } from 'node:crypto';
import type { PaymentSandbox } from 'nestjs-payment-sandbox';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import type { PaymentShopOptions, PaymentShopResolver } from '../config/service-options.js';

/** Where the service sends a shop's payers and postbacks. */
export interface CallbackUrls {
  readonly successUrl?: string;
  readonly failUrl?: string;
  readonly resultUrl?: string;
}

/** The shops of the host, as they are in a test: the sandbox's, under their own names and with tokens that are good nowhere else. */
export class TestedShops {
  private readonly tokens = new Map<string, string>();
  private urlsOf: (shop: string) => CallbackUrls = () => ({});

  constructor(
    private readonly sandbox: PaymentSandbox,
    private readonly apiBaseUrl: string,
  ) {}

  /** The host's options with its shops at the sandbox, no work that starts by itself, and no pauses that a test would wait for. */
  async rewrite(given: PaymentAcceptanceOptions): Promise<PaymentAcceptanceOptions> {
    const shops: Record<string, PaymentShopOptions> = {};
    for (const [name, shop] of Object.entries(given.shops ?? {})) shops[name] = await this.atSandbox(name, shop);
    return {
      ...given,
      shops,
      ...(given.shopResolver && { shopResolver: this.rewriteResolver(given.shopResolver) }),
      autoStart: false,
      migrations: 'run',
      callbacks: { ...given.callbacks, resultWaitMs: 1 },
      schedule: { ...given.schedule, jitterPercent: 0, minGapMs: 1 },
      deliveries: { ...given.deliveries, retryBaseMs: 1, retryCapMs: 1 },
    };
  }

  /** From now on callbacks go there, those of shops that come later included. */
  async sendTo(urlsOf: (shop: string) => CallbackUrls): Promise<void> {
    this.urlsOf = urlsOf;
    for (const name of this.tokens.keys()) await this.put(name);
  }

  private rewriteResolver(resolver: PaymentShopResolver): PaymentShopResolver {
    return {
      list: () => resolver.list(),
      find: async (name) => {
        const shop = await resolver.find(name);
        return shop && this.atSandbox(name, shop);
      },
    };
  }

  private async atSandbox(name: string, shop: PaymentShopOptions): Promise<PaymentShopOptions> {
    if (!this.tokens.has(name)) {
      this.tokens.set(name, randomBytes(16).toString('hex'));
      await this.put(name);
    }
    const apiToken = this.tokens.get(name) ?? '';
    const { apiBaseUrl } = this;
    return { ...shop, shopId: name, apiToken, previousApiTokens: [], apiBaseUrl, requestsPerSecond: 1000 };
  }

  private async put(name: string): Promise<void> {
    await this.sandbox.putShop(name, { apiToken: this.tokens.get(name), ...this.urlsOf(name) });
  }
}
