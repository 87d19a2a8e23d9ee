import { Inject, Injectable } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import { PaymentInvalidShopError, PaymentShopError } from '../config/shop.errors.js';
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

  constructor(
    private readonly store: ShopStore,
    private readonly shops: ShopRegistry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Compares the shops in the options. Stores nothing, for a program that does no work: a mistake in its options must
   * not affect the application.
   * @throws PaymentConfigurationError if a name belongs to another shop, or a shop has had another name
   */
  async compare(): Promise<void> {
    const problems: string[] = [];
    for (const shop of this.options.shops.values()) {
      const { problem } = await this.comparison(shop);
      if (problem !== undefined) problems.push(`shops.${shop.name}${problem}`);
    }
    if (problems.length > 0) throw new PaymentConfigurationError(problems);
  }

  /**
   * Compares the shops in the options, and stores them.
   * @throws PaymentConfigurationError as {@link compare}
   */
  async verify(): Promise<void> {
    await this.compare();
    for (const shop of this.options.shops.values()) await this.keep(shop);
    // Another instance may have stored other shops meanwhile.
    await this.compare();
  }

  /**
   * Compares and stores a shop of the resolver, before anything is done for it; those of the options have been at the
   * start.
   * @throws PaymentInvalidShopError if its name belongs to another shop, or it has had another name
   */
  async bind(shop: Shop): Promise<void> {
    const { name, shopId, apiBaseUrl } = shop;
    const identity = `${shopId} ${apiBaseUrl}`;
    if (this.shops.isConfigured(name) || this.bound.get(name) === identity) return;
    for (let isStored = false; !isStored;) {
      const { problem, stored } = await this.comparison(shop);
      if (problem !== undefined) throw new PaymentInvalidShopError(name, [`${name}${problem}`]);
      isStored = stored?.shopId === shopId && stored.apiBaseUrl === apiBaseUrl;
      if (!isStored) await this.keep(shop);
    }
    this.bound.set(name, identity);
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
  private async comparison({ name, shopId, apiBaseUrl }: Shop): Promise<Comparison> {
    const identities = await this.store.identitiesOf(name, shopId);
    const stored = identities.find((row) => row.name === name);
    const before = stored?.shopId ?? null;
    if (before !== null && before !== shopId) return { problem: nameTakenProblem(name, shopId, before) };
    for (const other of identities) {
      if (other.name === name || other.apiBaseUrl !== apiBaseUrl || (await this.isKnown(other.name))) continue;
      // Where both have bills, the names have lived side by side.
      if ((await this.store.hasBills(name)) || !(await this.store.hasBills(other.name))) continue;
      return { problem: renamedProblem(other.name) };
    }
    return { stored };
  }

  /** While the resolver fails, a shop may exist. */
  private async isKnown(name: string): Promise<boolean> {
    try {
      return (await this.shops.find(name)) !== undefined;
    } catch (error) {
      if (error instanceof PaymentShopError) return true;
      throw error;
    }
  }
}

interface Comparison {
  readonly problem?: string;
  readonly stored?: ShopIdentity | undefined;
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
