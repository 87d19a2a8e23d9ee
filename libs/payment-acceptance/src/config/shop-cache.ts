import type { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { within } from '../common/time-limit.js';
import type { PaymentShopResolver } from './options.js';
import { isShopName, resolveShop } from './resolve-shop.js';
import type { ResolvedOptions, Shop } from './resolved-options.js';
import { InvalidShopError, ShopResolverError } from './shop.errors.js';
import { sharedTokenFlaw, TokenOwners } from './token-owners.js';

interface Entry {
  readonly shop: Shop;
  readonly readAt: number;
}

/**
 * The shops of the host's resolver, checked, and kept for `shopLookup.cacheMs`. Only shops that are there are kept, so
 * that names which somebody makes up take no memory, and a new shop is seen at once.
 */
export class ShopCache {
  private readonly logger = new PaymentLogger('PaymentShops');
  private readonly entries = new Map<string, Entry>();
  private readonly reading = new Map<string, Promise<Shop | undefined>>();
  /** When each shop was last looked up again before its time. */
  private readonly hurriedAt = new Map<string, number>();
  private readonly warned = new Set<string>();
  private readonly owners = new TokenOwners();
  /** Whether a shop was seen for the first time since `list()` was last called. */
  discovered = false;

  constructor(
    private readonly resolver: PaymentShopResolver,
    private readonly options: Pick<ResolvedOptions, 'shops' | 'shopLookup' | 'production'>,
    private readonly clock: PaymentClock,
  ) {
    for (const shop of options.shops.values()) this.owners.claim(shop);
  }

  /**
   * Names that no shop can have are left out, and said.
   * @throws ShopResolverError
   */
  async list(): Promise<string[]> {
    this.discovered = false;
    const names: unknown = await this.ask(undefined, () => this.resolver.list());
    if (!Array.isArray(names)) throw new ShopResolverError(undefined, new TypeError('list() must give an array.'));
    const [good, bad] = [names.filter(isShopName), names.filter((name) => !isShopName(name))];
    if (bad.length > 0)
      this.warnOnce(`list() of the shop resolver gave names that no shop can have: ${bad.join(', ')}.`);
    return [...new Set(good)];
  }

  /**
   * `undefined` where there is no such shop.
   * @throws ShopResolverError, InvalidShopError where that is not known
   */
  async find(name: string): Promise<Shop | undefined> {
    const entry = this.entries.get(name);
    const age = this.now() - (entry?.readAt ?? 0);
    return entry && age >= 0 && age < this.options.shopLookup.cacheMs ? entry.shop : this.read(name);
  }

  /** What was read last, however long ago. */
  peek(name: string): Shop | undefined {
    return this.entries.get(name)?.shop;
  }

  /**
   * What the shop has become, where its token may have been changed: looked up again before its time, at most once in
   * `shopLookup.refreshGapMs`, since anybody can send a wrong digest. `undefined` where nothing newer is known.
   * @throws ShopResolverError, InvalidShopError
   */
  async refresh(shop: Shop): Promise<Shop | undefined> {
    const known = this.peek(shop.name);
    if (known && known !== shop) return known;
    const now = this.now();
    const since = now - (this.hurriedAt.get(shop.name) ?? -Infinity);
    if (since >= 0 && since < this.options.shopLookup.refreshGapMs) return undefined;
    this.hurriedAt.set(shop.name, now);
    return this.read(shop.name);
  }

  /** Callers at the same moment share one question. */
  private read(name: string): Promise<Shop | undefined> {
    const running = this.reading.get(name);
    if (running) return running;
    const reading = this.readNow(name).finally(() => this.reading.delete(name));
    this.reading.set(name, reading);
    return reading;
  }

  private async readNow(name: string): Promise<Shop | undefined> {
    const readAt = this.now();
    const settings = (await this.ask(name, () => this.resolver.find(name))) ?? undefined;
    const before = this.entries.get(name)?.shop;
    if (settings === undefined) {
      if (before) this.owners.release(before);
      this.entries.delete(name);
      this.hurriedAt.delete(name);
      return undefined;
    }
    const { shop, problems, warnings } = resolveShop(name, settings, this.options.production);
    if (!shop) throw new InvalidShopError(name, problems);
    for (const warning of warnings) this.warnOnce(warning);
    if (before) this.owners.release(before);
    else this.discovered = true;
    const other = this.owners.claim(shop);
    if (other !== undefined) this.warnOnce(sharedTokenFlaw(name, other));
    this.entries.set(name, { shop, readAt });
    return shop;
  }

  private async ask<T>(name: string | undefined, question: () => Promise<T>): Promise<T> {
    try {
      // A resolver that throws before it gives a promise is one that fails, too.
      const answer = Promise.resolve().then(question);
      return await within(this.options.shopLookup.timeoutMs, answer, 'The shop resolver');
    } catch (error) {
      throw new ShopResolverError(name, error);
    }
  }

  private warnOnce(warning: string): void {
    if (this.warned.has(warning)) return;
    this.warned.add(warning);
    this.logger.warn(warning);
  }

  private now(): number {
    return this.clock.now().getTime();
  }
}
