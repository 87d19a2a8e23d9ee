import { Inject, Injectable } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions, type Shop } from '../config/resolved-options.js';
import { ShopStore, type ShopIdentity } from '../settlement/storage/shop.store.js';

/**
 * Compares the shops in the options with those in the tables. If two applications used one name for different shops,
 * each would get the other's bills and events.
 */
@Injectable()
export class ShopIdentities {
  private readonly logger = new PaymentLogger('PaymentShops');

  constructor(
    private readonly store: ShopStore,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Stores nothing, for a program that does no work: a mistake in its options must not affect the application.
   * @throws PaymentConfigurationError if a name belongs to another shop, or a shop has had another name
   */
  async compare(): Promise<void> {
    const shops = [...this.options.shops.values()];
    const stored = await this.identitiesOf(shops);
    const problems = shops.flatMap(({ name, shopId }) => {
      const before = stored.get(name)?.shopId ?? null;
      return before === null || before === shopId ? [] : [identityTakenProblem(name, shopId, before)];
    });
    problems.push(...(await this.renamed(shops)));
    if (problems.length > 0) throw new PaymentConfigurationError(problems);
  }

  /**
   * Stores new shops. A changed address is stored with a warning, because a service may move.
   * @throws PaymentConfigurationError if a name belongs to another shop, or a shop has had another name
   */
  async verify(): Promise<void> {
    const shops = [...this.options.shops.values()];
    const renamed = await this.renamed(shops);
    if (renamed.length > 0) throw new PaymentConfigurationError(renamed);
    await this.store.register(shops.map(({ name }) => name));
    const stored = await this.identitiesOf(shops);
    const problems: string[] = [];
    for (const { name, shopId, apiBaseUrl } of shops) {
      const before = stored.get(name);
      const isBound = await this.store.bindIdentity({ name, shopId, apiBaseUrl });
      if (!isBound) problems.push(identityTakenProblem(name, shopId, before?.shopId ?? null));
      else if (before?.apiBaseUrl && before.apiBaseUrl !== apiBaseUrl) {
        this.logger.write(
          'shop-moved',
          `Shop "${name}" has moved from ${before.apiBaseUrl} to ${apiBaseUrl}: its earlier bills are now checked there. ` +
            'If that is a different service, give it its own schema (option "schema").',
          { shop: name },
        );
      }
    }
    if (problems.length > 0) throw new PaymentConfigurationError(problems);
  }

  /**
   * Under a new name, a shop's paid orders could be billed again, and its postbacks would find no bill. A name that the
   * options lack may be one of the shop resolver's.
   */
  private async renamed(shops: readonly Shop[]): Promise<string[]> {
    if (this.options.shopResolver || shops.length === 0) return [];
    const problems: string[] = [];
    for (const { name: before, shopId, apiBaseUrl } of await this.store.namesOf(shops)) {
      if (this.options.shops.has(before)) continue;
      const now = shops.find((shop) => shop.shopId === shopId && shop.apiBaseUrl === apiBaseUrl);
      // Where both have bills, the names have lived side by side.
      if (!now || (await this.store.hasBills(now.name)) || !(await this.store.hasBills(before))) continue;
      problems.push(renamedProblem(now.name, before));
    }
    return problems;
  }

  private async identitiesOf(shops: readonly Shop[]): Promise<ReadonlyMap<string, ShopIdentity>> {
    return new Map((await this.store.identitiesOf(shops)).map((identity) => [identity.name, identity]));
  }
}

function renamedProblem(name: string, before: string): string {
  return (
    `shops.${name}: the tables have the bills of this shop (the same shopId and apiBaseUrl) under the name "${before}". ` +
    `A shop keeps its name: call it "${before}". If both names are to go on, set shop_id in the row of "${before}" in the table ` +
    'shop_state to NULL.'
  );
}

function identityTakenProblem(name: string, shopId: string, before: string | null): string {
  return (
    `shops.${name}.shopId: the tables have a shop "${name}" with the id ${JSON.stringify(before)}, not ${JSON.stringify(shopId)}. ` +
    'If the former was wrong and nothing was sold yet, allow the change: payment-acceptance forget-shop --shop ' +
    `${name}. Another application on the same database needs its own schema (option "schema"), or other names for its ` +
    'shops. If the service gave a shop with bills a new id, set shop_id in its row of the table shop_state to NULL.'
  );
}
