import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { sql } from '../../database/statement.js';

/** Which shop of the service a name stands for; `null` if never stored. */
export interface ShopIdentity {
  readonly name: string;
  readonly shopId: string | null;
  readonly apiBaseUrl: string | null;
}

/** Which shops of the service the tables belong to. */
@Injectable()
export class ShopIdentityStore {
  constructor(private readonly database: Database) {}

  /** The stored identities of these shops. */
  identitiesOf(shops: readonly { readonly name: string }[]): Promise<ShopIdentity[]> {
    const names = shops.map(({ name }) => name);
    return this.database.rows<ShopIdentity>(
      sql`SELECT shop AS name, shop_id AS "shopId", api_base_url AS "apiBaseUrl" FROM payment_acceptance.shop_state
       WHERE shop ${this.database.dialect.oneOf(names, 'text')}`,
      {},
    );
  }

  /** Stores which shop a registered name stands for; `false` if it stands for another one. */
  async identify({ name, shopId, apiBaseUrl }: ShopIdentity): Promise<boolean> {
    const mine = await this.database.change(
      sql`UPDATE payment_acceptance.shop_state SET shop_id = ${shopId}, api_base_url = ${apiBaseUrl}
       WHERE shop = ${name} AND (shop_id IS NULL OR shop_id = ${shopId})`,
    );
    return mine === 1;
  }
}
