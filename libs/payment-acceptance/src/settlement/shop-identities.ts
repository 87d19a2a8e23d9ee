import { Inject, Injectable } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentInvalidShopError, PaymentShopResolverError } from '../config/shop.errors.js';
import { ShopStore, type ShopIdentity } from './storage/shop.store.js';

/**
 * Compares shops with those in the tables: a name stands for one shop of the service. With one name for several shops,
 * each would get the other's bills and events; under a new name, a shop's paid orders could be billed again, and its
 * postbacks would find no bill.
 */
@Injectable()
export class ShopIdentities {
  private readonly logger = new PaymentLogger('PaymentShops');
  /** The shop of the service that each name of the resolver's is known to stand for. */
  private readonly bound = new Map<string, string>();
  private readonly binding = new Map<string, Promise<void>>();

  constructor(
    private readonly store: ShopStore,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Compares the shops in the options, and stores new ones.
   * @throws PaymentConfigurationError as {@link compare}
   */
  async verify(): Promise<void> {
    const unstored = await this.compare();
    for (const shop of unstored) await this.keep(shop);
    // Another instance may have stored other shops meanwhile.
    if (unstored.length > 0) await this.compare();
  }

  /**
   * Compares the shops in the options, and returns those that are not stored as they are. Stores nothing, for a program
   * that does no work: a mistake in its options must not affect the application.
   * @throws PaymentConfigurationError if a name belongs to another shop, or a shop has had another name
   */
  async compare(): Promise<Shop[]> {
    const identities = await this.store.identities();
    const problems: string[] = [];
    const unstored: Shop[] = [];
    for (const shop of this.options.shops.values()) {
      const { problem, isStored, isUndecided } = await this.comparison(shop, identities);
      if (problem !== undefined) problems.push(`shops.${shop.name}${problem}`);
      // An application must start while the resolver fails: the next start compares again.
      if (!isStored && !isUndecided) unstored.push(shop);
    }
    if (problems.length > 0) throw new PaymentConfigurationError(problems);
    return unstored;
  }

  /**
   * Compares and stores a shop of the resolver, before anything is done for it; those of the options have been at the
   * start. Concurrent callers share one comparison.
   * @throws PaymentInvalidShopError if its name belongs to another shop, or it has had another name
   */
  async bind(shop: Shop): Promise<void> {
    const { name, shopId, apiBaseUrl } = shop;
    const identity = `${shopId} ${apiBaseUrl}`;
    if (this.shops.isConfigured(name) || this.bound.get(name) === identity) return;
    const key = `${name} ${identity}`;
    const binding = this.binding.get(key) ?? this.bindNow(shop).finally(() => this.binding.delete(key));
    this.binding.set(key, binding);
    await binding;
    this.bound.set(name, identity);
  }

  private async bindNow(shop: Shop): Promise<void> {
    for (let isKept = false; ; isKept = true) {
      const { problem, isStored, isUndecided } = await this.comparison(shop, await this.store.identities(shop));
      if (isUndecided)
        throw new PaymentShopResolverError(undefined, 'The list is needed to tell whether the shop was renamed.');
      if (problem !== undefined) throw new PaymentInvalidShopError(shop.name, [`${shop.name}${problem}`]);
      if (isStored || isKept) return;
      await this.keep(shop);
    }
  }

  /** Stores which shop the name stands for. A changed address is stored with a warning, because a service may move. */
  private async keep(shop: Shop): Promise<void> {
    const { name, apiBaseUrl } = shop;
    await this.store.register([name]);
    const from = await this.store.bindIdentity(shop);
    if (from === null || from === apiBaseUrl) return;
    this.logger.write(
      'shop-moved',
      `Shop "${name}" has moved from ${from} to ${apiBaseUrl}: its earlier bills are now checked there. ` +
        'If that is a different service, give it its own schema (option "schema").',
      { shop: name },
    );
  }

  /** Compares a shop with what is stored under its name, and with other names of the same shop. */
  private async comparison(
    { name, shopId, apiBaseUrl }: Shop,
    identities: readonly ShopIdentity[],
  ): Promise<Comparison> {
    const stored = identities.find((row) => row.name === name);
    const before = stored?.shopId ?? null;
    if (before !== null && before !== shopId) return { problem: nameTakenProblem(name, shopId, before) };
    const others = identities.filter(
      (row) => row.name !== name && row.shopId === shopId && row.apiBaseUrl === apiBaseUrl,
    );
    const isStored = before === shopId && stored?.apiBaseUrl === apiBaseUrl;
    // Where this name has bills, too, the names live side by side.
    if (others.every((row) => this.shops.isConfigured(row.name)) || (await this.store.hasBills(name)))
      return { isStored };
    const inUse = await this.shops.namesInUse();
    if (!inUse) return { isStored: false, isUndecided: true };
    const gone = others.filter((row) => !inUse.has(row.name));
    // Tenants of a resolver that share a shop of the service come and go.
    if (this.options.shopResolver && gone.length < others.length) return { isStored };
    for (const other of gone) if (await this.store.hasBills(other.name)) return { problem: renamedProblem(other.name) };
    return { isStored };
  }
}

interface Comparison {
  readonly problem?: string;
  /** Whether the tables have the shop as it is. */
  readonly isStored?: boolean;
  /** Whether the shop may have had another name, which only the resolver could tell, whose list fails. */
  readonly isUndecided?: boolean;
}

function renamedProblem(before: string): string {
  return (
    `: the tables have the bills of this shop (the same shopId and apiBaseUrl) under the name "${before}". ` +
    `A shop keeps its name: call it "${before}". If both names are to go on, set shop_id in the row of "${before}" in the table ` +
    'shop_state to NULL.'
  );
}

function nameTakenProblem(name: string, shopId: string, before: string): string {
  return (
    `.shopId: the tables have a shop "${name}" with the id ${JSON.stringify(before)}, not ${JSON.stringify(shopId)}. ` +
    'If the former was wrong and nothing was sold yet, allow the change: payment-acceptance forget-shop --shop ' +
    `${name}. Another application on the same database needs its own schema (option "schema"), or other names for its ` +
    'shops. If the service gave a shop with bills a new id, set shop_id in its row of the table shop_state to NULL.'
  );
}
