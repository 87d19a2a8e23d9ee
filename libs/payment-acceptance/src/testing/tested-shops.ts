import { randomBytes } from 'node:crypto';
import type { PaymentSandbox } from 'nestjs-payment-sandbox';
import { CONSTANTS, type GivenConstants } from '../config/constants.js';
import type { PaymentAcceptanceOptions } from '../config/options.js';
import type { PaymentShopOptions, PaymentShopResolver } from '../config/service-options.js';

/** Between checks. */
const NO_PAUSES = { [CONSTANTS]: { schedule: { jitterPercent: 0, minGapMs: 1 } } satisfies GivenConstants };

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

  /** The host's options with its shops at the sandbox, workers that do not start by themselves, and no pauses. */
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
      deliveries: { ...given.deliveries, retryCapMs: 1 },
      ...NO_PAUSES,
    };
  }

  /** Sends callbacks there from now on, including those of shops added later. */
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
