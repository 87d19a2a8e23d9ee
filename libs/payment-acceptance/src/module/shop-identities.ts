import { Inject, Injectable } from '@nestjs/common';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentConfigurationError } from '../config/configuration.error.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { DueStore } from '../storage/due.store.js';
import { ShopIdentityStore } from '../storage/shop-identity.store.js';

/**
 * Holds the shops of the options against those that the tables know by the same names. Where two applications meant
 * different shops by one name, each would get the other's bills and events.
 */
@Injectable()
export class ShopIdentities {
  private readonly logger = new PaymentLogger('PaymentShops');

  constructor(
    private readonly due: DueStore,
    private readonly store: ShopIdentityStore,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /**
   * Stores what is new. Another address is stored and warned of: a service moves now and then.
   * @throws PaymentConfigurationError where a name stands for another shop
   */
  async verify(): Promise<void> {
    const shops = [...this.options.shops.values()];
    await this.due.registerShops(shops.map(({ name }) => name));
    const stored = new Map((await this.store.identitiesOf(shops)).map((identity) => [identity.name, identity]));
    const problems: string[] = [];
    for (const { name, shopId, apiBaseUrl } of shops) {
      const before = stored.get(name);
      const known = await this.store.identify({ name, shopId, apiBaseUrl });
      if (!known) problems.push(taken(name, shopId, before?.shopId ?? null));
      else if (before?.apiBaseUrl && before.apiBaseUrl !== apiBaseUrl) {
        this.logger.warn(
          `Shop "${name}" was at ${before.apiBaseUrl} until now and is at ${apiBaseUrl}: its bills of before are asked ` +
            'about there. Where that is another service, give it a schema of its own (option "schema").',
          { shop: name },
        );
      }
    }
    if (problems.length > 0) throw new PaymentConfigurationError(problems);
  }
}

function taken(name: string, shopId: string, before: string | null): string {
  return (
    `shops.${name}.shopId: the tables know a shop "${name}" with the id ${JSON.stringify(before)}, not ${JSON.stringify(shopId)}. ` +
    'Another application on one database needs a schema of its own (option "schema"), or other names for its shops. Where ' +
    'it is the same shop and the service has given it a new id, set shop_id of this shop in the table shop_state to NULL.'
  );
}
