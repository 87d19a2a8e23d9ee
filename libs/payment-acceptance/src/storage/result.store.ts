import { Injectable } from '@nestjs/common';
import { Database } from './database.js';

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
    const rows = await this.database.query<{ id: string; result: BillResult }>(
      `SELECT b.id, CASE
         WHEN b.state = 'PAID' OR o.first_payment_id IS NOT NULL THEN 'paid'
         WHEN EXISTS (SELECT 1 FROM payment_acceptance.callback c
           WHERE c.bill_id = b.id AND c.pending AND c.asks = 0 AND c.kind <> 'redirect-fail') THEN 'pending'
         WHEN (SELECT coalesce(bool_and(p.verdict = 'failed'), false) FROM payment_acceptance.payment p
               WHERE p.bill_id = b.id) THEN 'failed'
         ELSE 'pending' END AS result
       FROM payment_acceptance.bill b JOIN payment_acceptance.shop_order o USING (shop, order_id)
       WHERE b.id = ANY($1::uuid[])`,
      [ids],
    );
    return new Map(rows.map(({ id, result }) => [id, result]));
  }
}

type BillResult = 'paid' | 'failed' | 'pending';
