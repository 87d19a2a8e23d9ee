import { Injectable } from '@nestjs/common';
import { Database } from './database.js';
import { sql } from './statement.js';

/** What is known of a bill's payments, for the payer's eyes. */
@Injectable()
export class ResultStore {
  constructor(private readonly database: Database) {}

  /**
   * By the id of our bill: `paid` once the order is settled so, by whichever bill; `failed` when every payment has failed
   * and no callback still waits for its first check that may tell of another one; else `pending`. A redirect to the Fail URL
   * tells of a failure, and one is known then.
   */
  async ofIntents(ids: readonly string[]): Promise<ReadonlyMap<string, BillResult>> {
    const rows = await this.database.rows<{ id: string; result: BillResult }>(
      sql`SELECT b.id, CASE
         WHEN b.state = 'PAID' OR o.first_payment_id IS NOT NULL THEN 'paid'
         WHEN EXISTS (SELECT 1 FROM payment_acceptance.callback c
           WHERE c.bill_id = b.id AND c.pending AND c.asks = 0 AND c.kind <> 'redirect-fail') THEN 'pending'
         WHEN (SELECT min(CASE WHEN p.verdict = 'failed' THEN 1 ELSE 0 END) FROM payment_acceptance.payment p
               WHERE p.bill_id = b.id) = 1 THEN 'failed'
         ELSE 'pending' END AS result
       FROM payment_acceptance.bill b JOIN payment_acceptance.shop_order o USING (shop, order_id)
       WHERE b.id ${this.database.dialect.oneOf(ids, 'uuid')}`,
      {},
    );
    return new Map(rows.map(({ id, result }) => [id, result]));
  }
}

type BillResult = 'paid' | 'failed' | 'pending';
