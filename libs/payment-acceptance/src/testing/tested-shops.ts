import { randomBytes } from 'node:crypto';
import type { PaymentSandbox } from 'nestjs-payment-sandbox';
import { CONSTANTS, type ConstantOverrides } from '../config/constants.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import type { PaymentShopOptions, PaymentShopResolver } from '../config/service-options.js';

/** Removes those pauses between checks that no option can change. */
const NO_PAUSE_OPTIONS = { [CONSTANTS]: { schedule: { jitterPercent: 0, minGapMs: 1 } } satisfies ConstantOverrides };

/** Where the service sends payers and postbacks of a shop. */
export interface CallbackUrls {
  readonly successUrl?: string;
  readonly failUrl?: string;
  readonly resultUrl?: string;
}

/**
 * The host's shops in a test: registered at the sandbox under their own names, with tokens that are valid only there.
 */
export class TestedShops {
  private readonly tokens = new Map<string, string>();
  private urlsOf: (shop: string) => CallbackUrls = () => ({});

  constructor(
    private readonly sandbox: PaymentSandbox,
    private readonly apiBaseUrl: string,
  ) {}

  async rewrite(options: PaymentAcceptanceOptions): Promise<PaymentAcceptanceOptions> {
    const shops: Record<string, PaymentShopOptions> = {};
    for (const [name, shop] of Object.entries(options.shops ?? {})) shops[name] = await this.pointToSandbox(name, shop);
    return {
      ...options,
      shops,
      ...(options.shopResolver && { shopResolver: this.rewriteResolver(options.shopResolver) }),
      autoStart: false,
      migrations: 'run',
      callbacks: { ...options.callbacks, resultWaitMs: 1 },
      deliveries: { ...options.deliveries, retryCapMs: 1 },
      ...NO_PAUSE_OPTIONS,
    };
  }

  /** From now on, sends callbacks to these addresses, including the callbacks of shops added later. */
  async sendTo(urlsOf: (shop: string) => CallbackUrls): Promise<void> {
    this.urlsOf = urlsOf;
    for (const name of this.tokens.keys()) await this.putShop(name);
  }

  private rewriteResolver(resolver: PaymentShopResolver): PaymentShopResolver {
    return {
      list: () => resolver.list(),
      find: async (name) => {
        const shop = await resolver.find(name);
        return shop && this.pointToSandbox(name, shop);
      },
    };
  }

  private async pointToSandbox(name: string, shop: PaymentShopOptions): Promise<PaymentShopOptions> {
    if (!this.tokens.has(name)) {
      this.tokens.set(name, randomBytes(16).toString('hex'));
      await this.putShop(name);
    }
    const apiToken = this.tokens.get(name) ?? '';
    const { apiBaseUrl } = this;
    return { ...shop, shopId: name, apiToken, previousApiTokens: [], apiBaseUrl, requestsPerSecond: 1000 };
  }

  private async putShop(name: string): Promise<void> {
    await this.sandbox.putShop(name, { apiToken: this.tokens.get(name), ...this.urlsOf(name) });
  }
}
