import { Inject, Injectable } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { Secret } from '../common/secret.js';
import { PaymentUnknownShopError } from './configuration.error.js';
import { isShopName } from './resolve-shop.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from './resolved-options.js';
import { ShopCache } from './shop-cache.js';
import { PaymentShopError } from './shop.errors.js';

/** A token, and the version of the shop that has it. */
export interface Credential {
  readonly shop: Shop;
  readonly token: Secret;
}

/** Keep a `Shop` for one piece of work only, and get it again for the next: shops of the resolver may change. */
@Injectable()
export class ShopRegistry {
  private readonly logger = new PaymentLogger('PaymentShops');
  private readonly cache: ShopCache | undefined;
  private readonly hosts: Map<string, number>;

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    clock: PaymentClock,
  ) {
    this.hosts = new Map([...options.shops.values()].map(({ apiBaseUrl }) => [new URL(apiBaseUrl).host, 1]));
    this.cache = options.shopResolver && new ShopCache(options.shopResolver, options, clock, this.hosts);
  }

  /** How many hosts the service has, as far as shops have been read. */
  get hostCount(): number {
    return this.hosts.size;
  }

  /** The shop of the unnamed routes. */
  get defaultName(): string {
    return this.options.defaultShop;
  }

  get configured(): string[] {
    return [...this.options.shops.keys()];
  }

  /** Whether a new shop has been seen since the last `list()`. */
  get discovered(): boolean {
    return this.cache?.discovered ?? false;
  }

  isConfigured(name: string): boolean {
    return this.options.shops.has(name);
  }

  /** Whether the shop is in the options, or the resolver could have it; does not ask the resolver. */
  mayExist(name: string): boolean {
    return this.isConfigured(name) || (this.cache !== undefined && isShopName(name));
  }

  /** The shop from the options or the cache, without asking the resolver. */
  peek(name: string): Shop | undefined {
    return this.options.shops.get(name) ?? this.cache?.peek(name);
  }

  /** @throws PaymentShopResolverError */
  async list(): Promise<string[]> {
    return [...new Set([...this.configured, ...((await this.cache?.list()) ?? [])])];
  }

  /**
   * Returns `undefined` if there is no such shop.
   * @throws PaymentShopResolverError, PaymentInvalidShopError if that cannot be determined
   */
  async find(name: string): Promise<Shop | undefined> {
    return this.options.shops.get(name) ?? (this.mayExist(name) ? this.cache?.find(name) : undefined);
  }

  /**
   * Like {@link find}, for a name that anyone may have made up, as in the address of a callback.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
   */
  async findRequested(name: string): Promise<Shop | undefined> {
    if (name === this.defaultName) return this.find(name);
    return this.options.shops.get(name) ?? (this.mayExist(name) ? this.cache?.findRequested(name) : undefined);
  }

  /** @throws PaymentUnknownShopError, PaymentShopResolverError, PaymentInvalidShopError */
  async get(name: string): Promise<Shop> {
    const shop = await this.find(name);
    if (!shop) throw this.unknownShopError(name);
    return shop;
  }

  /** The names of the options, and those that the resolver lists now; `undefined` while its list fails. */
  async namesInUse(): Promise<ReadonlySet<string> | undefined> {
    const listed = this.cache ? await this.cache.names() : [];
    return listed && new Set([...this.configured, ...listed]);
  }

  /** @throws PaymentInvalidShopError if the resolver knows the shop, but does not list it: its bills would not be checked */
  async requireListed(name: string): Promise<void> {
    if (!this.isConfigured(name)) await this.cache?.requireListed(name);
  }

  /**
   * Returns the name if a shop may have it, without asking the shop resolver: enough if only our own records are
   * concerned.
   * @throws PaymentUnknownShopError
   */
  requireName(name: string): string {
    if (!this.mayExist(name)) throw this.unknownShopError(name);
    return name;
  }

  private unknownShopError(name: string): PaymentUnknownShopError {
    return new PaymentUnknownShopError(name, this.configured, this.cache !== undefined);
  }

  /**
   * Returns the shop for which the check holds: the given one, or its current version after a token rotation;
   * `undefined` if it holds for neither.
   * @throws PaymentShopResolverError, PaymentInvalidShopError if that cannot be determined
   */
  async findMatching(shop: Shop, matches: (shop: Shop) => boolean): Promise<Shop | undefined> {
    if (matches(shop)) return shop;
    const fresh = await this.refresh(shop);
    return fresh && matches(fresh) ? fresh : undefined;
  }

  /**
   * The tokens to try until the service accepts one: the shop's own, then those it has after a rotation. At most
   * `tokensPerRequest` for a shop from the resolver, so that a lease outlasts the requests.
   */
  async *credentials(shop: Shop): AsyncGenerator<Credential> {
    const maxTokens = this.isConfigured(shop.name) ? Infinity : this.options.tokensPerRequest;
    const triedTokens = new Set<string>();
    // With another `shopId`, the name now stands for another shop, for which the request is not meant.
    for (
      let now: Shop | undefined = shop;
      now?.shopId === shop.shopId;
      now = now === shop ? await this.refreshQuietly(shop) : undefined
    ) {
      for (const token of [now.token, ...now.previousTokens]) {
        if (triedTokens.size >= maxTokens || triedTokens.has(token.reveal())) continue;
        triedTokens.add(token.reveal());
        yield { shop: now, token };
      }
    }
  }

  private async refresh(shop: Shop): Promise<Shop | undefined> {
    return this.isConfigured(shop.name) ? undefined : this.cache?.refresh(shop);
  }

  /** Logs a failure of the resolver, so that the caller reports the service's refusal, which says more. */
  private async refreshQuietly(shop: Shop): Promise<Shop | undefined> {
    try {
      return await this.refresh(shop);
    } catch (error) {
      if (!(error instanceof PaymentShopError)) throw error;
      const fields = { shop: shop.name, error: errorType(error) };
      this.logger.write('shop-lookup-failed', describeError(error), fields);
      return undefined;
    }
  }
}
