import type { PaymentClock } from '../common/clock.js';
import { describeError } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { withTimeout } from '../common/timeout.js';
import { isShopName, resolveShop } from './resolve-shop.js';
import type { ResolvedOptions, Shop } from './resolved-options.js';
import type { PaymentShopResolver } from './service-options.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from './shop.errors.js';
import { sharedTokenProblem, TokenOwners } from './token-owners.js';

interface Entry {
  readonly shop: Shop;
  readonly readAt: number;
}

/**
 * Validates the shops of the host's resolver and caches them for `cacheMs`. A name from a callback's address is looked
 * up only if the list has exactly this name: `find` may accept other spellings, as a database that ignores case does.
 * The host's own calls see a new shop at once.
 */
export class ShopCache {
  private readonly logger = new PaymentLogger('PaymentShops');
  private readonly entries = new Map<string, Entry>();
  private readonly reading = new Map<string, Promise<Shop | undefined>>();
  /** Each shop's last look-up by `refresh`; callers within the gap share its outcome. */
  private readonly refreshes = new Map<string, { readonly at: number; readonly read: Promise<unknown> }>();
  private readonly warned = new Set<string>();
  private readonly owners = new TokenOwners();
  private listed = new Set<string>();
  /** When the list was last requested, successfully or not. */
  private listedAt = -Infinity;
  private listing: Promise<ReadonlySet<string>> | undefined;
  private readingNames: Promise<ReadonlySet<string>> | undefined;
  private namesFailedAt = -Infinity;
  discovered = false;

  constructor(
    private readonly resolver: PaymentShopResolver,
    private readonly options: Pick<ResolvedOptions, 'shops' | 'shopLookup' | 'production'>,
    private readonly clock: PaymentClock,
    /** The hosts of the service, with the number of shops at each; those of the shops read here are counted. */
    private readonly hosts = new Map<string, number>(),
  ) {
    for (const shop of options.shops.values()) this.owners.register(shop);
  }

  /**
   * Leaves out invalid names and logs a warning about them.
   * @throws PaymentShopResolverError
   */
  async list(): Promise<string[]> {
    this.discovered = false;
    this.listing = this.readList();
    return [...(await this.listing)];
  }

  private async readList(): Promise<ReadonlySet<string>> {
    this.listedAt = this.clock.elapsed();
    const names: unknown = await this.ask(undefined, () => this.resolver.list());
    if (!Array.isArray(names))
      throw new PaymentShopResolverError(undefined, new TypeError('list() must return an array.'));
    const validNames = names.filter(isShopName);
    const invalidNames = names.filter((name) => !isShopName(name)).map((name) => describeError(name, 60));
    if (invalidNames.length > 0)
      this.warnOnce(`list() of the shop resolver returned invalid shop names: ${invalidNames.join(', ')}.`);
    this.listed = new Set(validNames);
    return this.listed;
  }

  /** @throws PaymentShopResolverError, PaymentInvalidShopError */
  async find(name: string): Promise<Shop | undefined> {
    const entry = this.entries.get(name);
    const isFresh = entry && this.clock.elapsed() - entry.readAt < this.options.shopLookup.cacheMs;
    return isFresh ? entry.shop : this.read(name);
  }

  /**
   * Like {@link find}, for a name that anyone may have made up. If the list lacks it, the list is requested again, at
   * most once per `refreshGapMs`.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
   */
  async findRequested(name: string): Promise<Shop | undefined> {
    if (this.entries.has(name)) return this.find(name);
    if (!(await this.isListed(name))) return undefined;
    const shop = await this.read(name);
    if (!shop) this.listed.delete(name);
    return shop;
  }

  /** The shop as last read, however long ago. */
  peek(name: string): Shop | undefined {
    return this.entries.get(name)?.shop;
  }

  /**
   * Looks a shop up again before its cache entry expires, because its token may have changed. At most once per
   * `refreshGapMs`, since anyone can send a wrong digest. Returns `undefined` if nothing newer is known.
   * @throws PaymentShopResolverError, PaymentInvalidShopError
   */
  async refresh(shop: Shop): Promise<Shop | undefined> {
    const { name } = shop;
    const cached = this.peek(name);
    if (cached && cached !== shop) return cached;
    const now = this.clock.elapsed();
    const last = this.refreshes.get(name);
    const isRecent = last !== undefined && now - last.at < this.options.shopLookup.refreshGapMs;
    const read = isRecent ? last.read : this.read(name);
    if (!isRecent) this.refreshes.set(name, { at: now, read });
    await read;
    const fresh = this.peek(name);
    return fresh === shop ? undefined : fresh;
  }

  private async isListed(name: string): Promise<boolean> {
    if (this.listed.has(name)) return true;
    const isRecent = this.clock.elapsed() - this.listedAt < this.options.shopLookup.refreshGapMs;
    if (!this.listing || !isRecent) this.listing = this.readList();
    return (await this.listing).has(name);
  }

  /**
   * The names that the resolver lists now, or `undefined` while its list fails. Concurrent callers share a reading, and
   * after a failure it is not read again for `refreshGapMs`.
   */
  async names(): Promise<ReadonlySet<string> | undefined> {
    if (this.clock.elapsed() - this.namesFailedAt < this.options.shopLookup.refreshGapMs) return undefined;
    if (!this.readingNames) {
      this.listing = this.readList();
      this.readingNames = this.listing.finally(() => (this.readingNames = undefined));
    }
    try {
      return await this.readingNames;
    } catch (error) {
      if (!(error instanceof PaymentShopResolverError)) throw error;
      this.namesFailedAt = this.clock.elapsed();
      return undefined;
    }
  }

  /**
   * For a shop that {@link find} knows. While the list fails, the shop counts as listed.
   * @throws PaymentInvalidShopError if the list lacks exactly this name: no bill of it would be checked
   */
  async requireListed(name: string): Promise<void> {
    if (this.listed.has(name)) return;
    // A list that is being read already may have begun before the shop came into being.
    for (let isBegunNow = false; !isBegunNow;) {
      isBegunNow = this.readingNames === undefined;
      const names = await this.names();
      if (!names || names.has(name)) return;
    }
    throw new PaymentInvalidShopError(name, [
      `find() knows "${name}", but list() does not return exactly this name, so no bill of it would be checked.`,
    ]);
  }

  private countHost(shop: Shop | undefined, by: 1 | -1): void {
    if (!shop) return;
    const { host } = new URL(shop.apiBaseUrl);
    const count = (this.hosts.get(host) ?? 0) + by;
    if (count > 0) this.hosts.set(host, count);
    else this.hosts.delete(host);
  }

  /** Concurrent callers share one look-up. */
  private read(name: string): Promise<Shop | undefined> {
    const running = this.reading.get(name);
    if (running) return running;
    const reading = this.readNow(name).finally(() => this.reading.delete(name));
    this.reading.set(name, reading);
    return reading;
  }

  private async readNow(name: string): Promise<Shop | undefined> {
    const readAt = this.clock.elapsed();
    const found = await this.ask(name, () => this.resolver.find(name));
    // A resolver that looks names up in a plain object finds a function under `constructor`.
    const settings = typeof found === 'function' ? undefined : (found ?? undefined);
    const before = this.entries.get(name)?.shop;
    if (settings === undefined) {
      if (before) this.owners.release(before);
      this.countHost(before, -1);
      this.entries.delete(name);
      this.refreshes.delete(name);
      return undefined;
    }
    const { shop, problems, warnings } = resolveShop(name, settings, this.options.production, true);
    if (!shop) throw new PaymentInvalidShopError(name, problems);
    for (const warning of warnings) this.warnOnce(warning);
    if (before) this.owners.release(before);
    else this.discovered = true;
    const other = this.owners.register(shop);
    if (other !== undefined) this.warnOnce(sharedTokenProblem(name, other));
    this.countHost(before, -1);
    this.countHost(shop, 1);
    this.entries.set(name, { shop, readAt });
    return shop;
  }

  private async ask<T>(name: string | undefined, lookUp: () => Promise<T>): Promise<T> {
    try {
      // Turns a synchronous throw of the resolver into a rejection.
      const answer = Promise.resolve().then(lookUp);
      return await withTimeout(this.options.shopLookup.timeoutMs, answer, 'The shop resolver');
    } catch (error) {
      throw new PaymentShopResolverError(name, error);
    }
  }

  private warnOnce(warning: string): void {
    if (this.warned.has(warning)) return;
    this.warned.add(warning);
    this.logger.write('configuration-warning', warning);
  }
}
