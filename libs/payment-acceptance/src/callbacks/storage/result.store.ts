import { Injectable } from '@nestjs/common';
import type { PaymentResult } from '../../config/hooks.js';
import { Database } from '../../database/database.js';
import { expectedStatus } from './callback.store.js';

export type BillResult = Pick<PaymentResult, 'result' | 'amount' | 'currency'>;

@Injectable()
export class ResultStore {
  constructor(private readonly database: Database) {}

  /**
   * Returns `paid` once the order is paid by any of its bills, with the amount of that bill; `review` while the bill has
   * an open review; `failed` once no payment counts and no callback announces another; otherwise `pending`. A callback
   * announces a payment until the first check made for it; one that says a payment has succeeded does so until the last
   * such check, since the list may show the payment later. A redirect to the Fail URL announces none: it concerns the
   * failure that is already known.
   */
  async ofIntents(ids: readonly string[]): Promise<ReadonlyMap<string, BillResult>> {
    const { dialect } = this.database;
    const rows = await this.database.rows<BillResult & { intentId: string }>({})`SELECT b.intent_id AS "intentId", CASE
        WHEN b.state = 'PAID' OR o.first_payment_id IS NOT NULL THEN 'paid'
        WHEN EXISTS (SELECT 1 FROM payment_acceptance.callback c WHERE c.intent_id = b.intent_id AND c.kind <> 'redirect-fail'
          AND c.pending AND (c.asks = 0 OR ${expectedStatus('c.kind', 'c.status')} = 'SUCCESS')) THEN 'pending'
        WHEN EXISTS (SELECT 1 FROM payment_acceptance.review r WHERE r.intent_id = b.intent_id AND r.state = 'OPEN') THEN 'review'
        WHEN (SELECT min(CASE WHEN p.verdict IN ('failed', 'review') THEN 1 ELSE 0 END) FROM payment_acceptance.payment p
              WHERE p.intent_id = b.intent_id) = 1 THEN 'failed'
        ELSE 'pending' END AS result,
        ${dialect.text('coalesce(paid.amount, b.amount)')} AS amount, coalesce(paid.currency, b.currency) AS currency
      FROM payment_acceptance.bill b JOIN payment_acceptance.shop_order o USING (shop, order_id)
      LEFT JOIN payment_acceptance.payment first ON first.shop = o.shop AND first.payment_id = o.first_payment_id
      LEFT JOIN payment_acceptance.bill paid ON paid.intent_id = first.intent_id AND b.state <> 'PAID'
      WHERE b.intent_id ${dialect.oneOf(ids, 'uuid')}`;
    return new Map(rows.map(({ intentId, ...shown }) => [intentId, shown]));
  }
}
