import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import { join, sql } from '../../../database/statement.js';
import { ShopStore } from '../shop.store.js';

export class MariaShopStore extends ShopStore<MariaDatabase> {
  override async register(shops: readonly string[]): Promise<void> {
    if (shops.length === 0) return;
    const rows = [...shops].sort().map((shop) => sql`(${shop}, '1970-01-01')`);
    await this.database.change(
      sql`INSERT INTO payment_acceptance.shop_state (shop, next_request_at) VALUES ${join(rows, ', ')}
       ON DUPLICATE KEY UPDATE shop = shop`,
    );
  }
}
