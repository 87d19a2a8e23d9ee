import type { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { withTimeout } from '../common/timeout.js';
import { RequestedShopNames } from './requested-shop-names.js';
import { isShopName, resolveShop } from './resolve-shop.js';
import type { ResolvedOptions, Shop } from './resolved-options.js';
import type { PaymentShopOptions, PaymentShopResolver } from './service-options.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from './shop.errors.js';
import { sharedTokenFlaw, TokenOwners } from './token-owners.js';

/** How long a list of the shops serves to tell those that there are from inventions. */
const LIST_MS = 60_000;

interface Entry {
  readonly shop: Shop;
  readonly readAt: number;
}

/**
 * The shops of the host's resolver, checked, and kept for `shopLookup.cacheMs`. Names that a callback's address has are
 * asked about only so often, and for `shopLookup.absentMs` not again where they are nobody's. The host's own calls see a
 * new shop at once.
 */
export class ShopCache {
  private readonly logger = new PaymentLogger('PaymentShops');
  private readonly entries = new Map<string, Entry>();
  private readonly reading = new Map<string, Promise<Shop | undefined>>();
  /** When each shop was last looked up again before its time. */
  private readonly hurriedAt = new Map<string, number>();
  private readonly warned = new Set<string>();
  private readonly owners = new TokenOwners();
  private readonly requested: RequestedShopNames;
  private listed: ReadonlySet<string> = new Set();
  /** When the list was last asked for, whatever came of it. */
  private listedAt = -Infinity;
  private listing: Promise<unknown> | undefined;
  /** Whether a shop was seen for the first time since `list()` was last called. */
  discovered = false;

  constructor(
    private readonly resolver: PaymentShopResolver,
    private readonly options: Pick<ResolvedOptions, 'shops' | 'shopLookup' | 'production'>,
    private readonly clock: PaymentClock,
  ) {
    for (const shop of options.shops.values()) this.owners.register(shop);
    this.requested = new RequestedShopNames(options.shopLookup.absentMs);
  }

  /**
   * Names that no shop can have are left out, and said.
   * @throws PaymentShopResolverError
   */
  async list(): Promise<string[]> {
    this.discovered = false;
    return [...(await this.readList())];
  }

  private async readList(): Promise<ReadonlySet<string>> {
    this.listedAt = this.now();
    const names: unknown = await this.ask(undefined, () => this.resolver.list());
    if (!Array.isArray(names))
      throw new PaymentShopResolverError(undefined, new TypeError('list() must give an array.'));
    const [good, bad] = [names.filter(isShopName), names.filter((name) => !isShopName(name))];
    if (bad.length > 0)
      this.warnOnce(`list() of the shop resolver gave names that no shop can have: ${bad.join(', ')}.`);
    this.listed = new Set(good);
    return this.listed;
  }

  /**
   * `undefined` where there is no such shop.
   * @throws PaymentShopResolverError, PaymentInvalidShopError where that is not known
   */
  async find(name: string): Promise<Shop | undefined> {
    const entry = this.entries.get(name);
    const age = this.now() - (entry?.readAt ?? 0);
    return entry && age >= 0 && age < this.options.shopLookup.cacheMs ? entry.shop : this.read(name);
  }

  /**
   * The same for a name that anybody can have made up; `busy` where too many of those are asked about.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
   */
  async findRequested(name: string): Promise<Shop | undefined | 'busy'> {
    if (this.entries.has(name)) return this.find(name);
    const now = this.now();
    if (this.requested.isAbsent(name, now)) return undefined;
    const mayAsk = this.reading.has(name) || this.requested.mayAsk(now) || (await this.isListed(name));
    if (!mayAsk) return 'busy';
    const shop = await this.read(name);
    if (shop) this.requested.found(name);
    else this.requested.absent(name, now);
    return shop;
  }

  /** What was read last, however long ago. */
  peek(name: string): Shop | undefined {
    return this.entries.get(name)?.shop;
  }

  /**
   * What the shop has become, where its token may have been changed: looked up again before its time, at most once in
   * `shopLookup.refreshGapMs`, since anybody can send a wrong digest. `undefined` where nothing newer is known.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
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

  /** Where strangers use up the questions, the shops that there are stay known by their list, of a minute ago at most. */
  private async isListed(name: string): Promise<boolean> {
    const age = this.now() - this.listedAt;
    if (age < 0 || age >= LIST_MS) {
      // Where the list cannot be had either, that of before is all there is; the callback comes again.
      this.listing = this.readList().catch(() => undefined);
    }
    await this.listing;
    return this.listed.has(name);
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
    const settings = settingsOf(await this.ask(name, () => this.resolver.find(name)));
    const before = this.entries.get(name)?.shop;
    if (settings === undefined) {
      if (before) this.owners.release(before);
      this.entries.delete(name);
      this.hurriedAt.delete(name);
      return undefined;
    }
    const { shop, problems, warnings } = resolveShop(name, settings, this.options.production);
    if (!shop) throw new PaymentInvalidShopError(name, problems);
    for (const warning of warnings) this.warnOnce(warning);
    if (before) this.owners.release(before);
    else this.discovered = true;
    const other = this.owners.register(shop);
    if (other !== undefined) this.warnOnce(sharedTokenFlaw(name, other));
    this.entries.set(name, { shop, readAt });
    return shop;
  }

  private async ask<T>(name: string | undefined, question: () => Promise<T>): Promise<T> {
    try {
      // A resolver that throws before it gives a promise is one that fails, too.
      const answer = Promise.resolve().then(question);
      return await withTimeout(this.options.shopLookup.timeoutMs, answer, 'The shop resolver');
    } catch (error) {
      throw new PaymentShopResolverError(name, error);
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

/**
 * A function is what a resolver finds that looks a name up in a plain object, where somebody has called a shop
 * `constructor`: there is no such shop.
 */
function settingsOf(found: PaymentShopOptions | null | undefined): PaymentShopOptions | undefined {
  return found === null || typeof found === 'function' ? undefined : found;
}
