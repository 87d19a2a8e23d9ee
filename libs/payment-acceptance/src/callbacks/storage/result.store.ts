import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { sql } from '../../database/statement.js';

/** The state of a bill's payments, as shown to the payer. */
@Injectable()
export class ResultStore {
  constructor(private readonly database: Database) {}

  /**
   * By the id of our bill: `paid` once the order is paid, by any of its bills; `failed` once every payment has failed and no
   * callback that may announce another one waits for its first check; otherwise `pending`. A redirect to the Fail URL does
   * not count as such a callback: it announces the failure that is already known.
   */
  async ofIntents(ids: readonly string[]): Promise<ReadonlyMap<string, BillResult>> {
    const rows = await this.database.rows<{ intentId: string; result: BillResult }>(
      sql`SELECT b.intent_id AS "intentId", CASE
         WHEN b.state = 'PAID' OR o.first_payment_id IS NOT NULL THEN 'paid'
         WHEN EXISTS (SELECT 1 FROM payment_acceptance.callback c
           WHERE c.intent_id = b.intent_id AND c.pending AND c.asks = 0 AND c.kind <> 'redirect-fail') THEN 'pending'
         WHEN (SELECT min(CASE WHEN p.verdict = 'failed' THEN 1 ELSE 0 END) FROM payment_acceptance.payment p
               WHERE p.intent_id = b.intent_id) = 1 THEN 'failed'
         ELSE 'pending' END AS result
       FROM payment_acceptance.bill b JOIN payment_acceptance.shop_order o USING (shop, order_id)
       WHERE b.intent_id ${this.database.dialect.oneOf(ids, 'uuid')}`,
      {},
    );
    return new Map(rows.map(({ intentId, result }) => [intentId, result]));
  }
}

type BillResult = 'paid' | 'failed' | 'pending';
