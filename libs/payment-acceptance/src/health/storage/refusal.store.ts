import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { sql } from '../../database/statement.js';

/** Which shops the service refuses; cheap even with many shops. */
@Injectable()
export class RefusalStore {
  constructor(private readonly database: Database) {}

  /** Names of refused shops, at most `limit`. */
  async refused(limit: number): Promise<string[]> {
    const rows = await this.database.rows<{ shop: string }>(
      sql`SELECT shop FROM payment_acceptance.shop_state WHERE refused_since IS NOT NULL ORDER BY shop LIMIT ${limit}`,
      {},
    );
    return rows.map(({ shop }) => shop);
  }
}
