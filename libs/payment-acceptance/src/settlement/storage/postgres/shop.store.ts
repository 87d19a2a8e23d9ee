import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { sql } from '../../../database/statement.js';
import { ShopStore } from '../shop.store.js';

export class PostgresShopStore extends ShopStore<PostgresDatabase> {
  override async register(shops: readonly string[]): Promise<void> {
    await this.database.change(
      sql`INSERT INTO payment_acceptance.shop_state (shop, next_request_at)
       SELECT shop, '-infinity' FROM unnest(${shops}::text[]) AS shop ORDER BY 1 ON CONFLICT DO NOTHING`,
    );
  }
}
