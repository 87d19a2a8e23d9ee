import { Injectable } from '@nestjs/common';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import { FIRST_UUID } from '../../domain/uuid.js';
import { Database } from '../../database/database.js';
import { instant } from '../../database/reading.js';
import { REPORT_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';

export interface BillToRecheck {
  readonly intentId: IntentId;
  readonly openedAt: Date;
}

export interface UnknownBillPostback {
  readonly id: string;
  readonly billId: BillId;
  /** Anybody can send a postback, so it may name any order. */
  readonly orderId: OrderId | null;
  readonly status: string | null;
  readonly digest: string;
  /** `OutSum` and `CurrencyIn` as received; `null` once retention has removed them. */
  readonly amountText: string | null;
  readonly currencyText: string | null;
  readonly receivedAt: Date;
}

@Injectable()
export class RecoveryStore {
  constructor(private readonly database: Database) {}

  /**
   * Bills with an id at the service that are open, or that were opened, ended, or had a payment change, at `since` or
   * later; in the order of their opening.
   */
  billsToRecheck(shop: string, since: Date, after: BillToRecheck | undefined, limit: number): Promise<BillToRecheck[]> {
    const { dialect } = this.database;
    const from = dialect.instant(since.getTime());
    const openedAt = dialect.epochMs('b.opened_at');
    const afterMs = after?.openedAt.getTime() ?? 0;
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).rows<BillToRecheck>({ openedAt: instant })`
      SELECT b.intent_id AS "intentId", ${openedAt} AS "openedAt" FROM payment_acceptance.bill b
      WHERE b.shop = ${shop} AND b.bill_id IS NOT NULL
        AND (${openedAt} > ${afterMs} OR ${openedAt} = ${afterMs} AND b.intent_id > ${after?.intentId ?? FIRST_UUID})
        AND (b.state = 'OPEN' OR b.opened_at >= ${from} OR b.ended_at >= ${from} OR EXISTS (
          SELECT 1 FROM payment_acceptance.payment p WHERE p.intent_id = b.intent_id AND p.changed_at >= ${from}))
      ORDER BY ${openedAt}, b.intent_id LIMIT ${limit}`;
  }

  /** Does not postpone checks that are due earlier. */
  async recheck(intentIds: readonly IntentId[], inMs: number): Promise<void> {
    const checkAt = this.database.now(inMs);
    await this.database.change`UPDATE payment_acceptance.bill SET next_check_at = ${checkAt}
      WHERE intent_id ${this.database.dialect.oneOf(intentIds, 'uuid')} AND (next_check_at IS NULL OR next_check_at > ${checkAt})`;
  }

  /** Postbacks that name an unknown bill of the shop, whether they still wait for it or not; oldest first. */
  postbacksOfUnknownBills(
    shop: string,
    since: Date,
    after: UnknownBillPostback | undefined,
    limit: number,
  ): Promise<UnknownBillPostback[]> {
    const { dialect } = this.database;
    const receivedAt = dialect.epochMs('c.received_at');
    const afterMs = after?.receivedAt.getTime() ?? 0;
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).rows<UnknownBillPostback>({ receivedAt: instant })`
      SELECT c.id, c.bill_id AS "billId", c.order_id AS "orderId", c.status, c.digest,
        ${dialect.jsonText('c.fields', 'OutSum')} AS "amountText",
        ${dialect.jsonText('c.fields', 'CurrencyIn')} AS "currencyText", ${receivedAt} AS "receivedAt"
      FROM payment_acceptance.callback c
      WHERE c.shop = ${shop} AND c.kind = 'postback' AND c.intent_id IS NULL AND c.bill_id IS NOT NULL
        AND c.received_at >= ${dialect.instant(since.getTime())}
        AND (${receivedAt} > ${afterMs} OR ${receivedAt} = ${afterMs} AND c.id > ${after?.id ?? FIRST_UUID})
        AND NOT EXISTS (SELECT 1 FROM payment_acceptance.bill b
          WHERE b.shop = c.shop AND b.bill_id = c.bill_id)
      ORDER BY ${receivedAt}, c.id LIMIT ${limit}`;
  }

  unknownOutcomes(shop: string): Promise<number> {
    return this.database.count`
      SELECT count(*) AS count FROM payment_acceptance.bill WHERE shop = ${shop} AND state = 'UNKNOWN'`;
  }
}
