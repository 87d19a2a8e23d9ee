import type { BillRecord } from '../../../domain/bill.js';
import type { CreatedBill } from '../../../client/answers.js';
import { BILL_READERS, billColumns, BillStore, INTENT_COLUMNS, type NewBill } from '../bill.store.js';
import { sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { addMilliseconds } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';

const INSERT_FIRST = prepare(
  [
    'leaseMs',
    'intentId',
    'shop',
    'shopId',
    'orderId',
    'amount',
    'currency',
    'payerPaysCommission',
    'description',
    'name',
    'type',
    'custom',
    'customGiven',
    'traceparent',
  ],
  ({ leaseMs, ...bill }, now) =>
    sql`WITH first AS (INSERT INTO payment_acceptance.shop_order (shop, order_id)
        VALUES (${bill.shop}, ${bill.orderId}) ON CONFLICT DO NOTHING RETURNING shop)
      INSERT INTO payment_acceptance.bill (${INTENT_COLUMNS})
      SELECT ${bill.intentId}, ${bill.shop}, ${bill.shopId}, ${bill.orderId}, 1, 'CREATING', ${bill.amount}, ${bill.currency},
        ${bill.payerPaysCommission}, ${bill.description}, ${bill.name}, ${bill.type}, ${bill.custom}, ${bill.customGiven},
        ${bill.traceparent}, ${now}, ${now}, ${addMilliseconds(now, leaseMs)} FROM first RETURNING intent_id`,
);

const OPEN_BILL = prepare(
  ['firstCheckMs', 'intentId', 'billId', 'linkUrl', 'linkPageUrl', 'alsoState'],
  ({ firstCheckMs, intentId, billId, linkUrl, linkPageUrl, alsoState }, now) =>
    sql`UPDATE payment_acceptance.bill
       SET state = 'OPEN', bill_id = ${billId}, link_url = ${linkUrl}, link_page_url = ${linkPageUrl}, failure = NULL,
         opened_at = ${now}, next_check_at = ${addMilliseconds(now, firstCheckMs)}, check_after = ${now}, lease_until = NULL, ended_at = NULL
       WHERE intent_id = ${intentId} AND state IN ('CREATING', 'UNKNOWN', ${alsoState}) RETURNING ${billColumns(postgres, now)}`,
);

export class PostgresBillStore extends BillStore<PostgresDatabase> {
  override async insertFirst(bill: Omit<NewBill, 'attempt'>, leaseMs: number): Promise<boolean> {
    const stored = await this.database.executeAtReadCommitted(INSERT_FIRST, { leaseMs, ...bill }, {});
    return stored.length === 1;
  }

  override async open(
    id: string,
    { billId, linkUrl, linkPageUrl }: CreatedBill,
    firstCheckMs: number,
    isVoided?: 'voided',
  ): Promise<BillRecord | undefined> {
    const alsoState = isVoided ? 'VOIDED' : 'UNKNOWN';
    const parameters = { firstCheckMs, intentId: id, billId, linkUrl, linkPageUrl, alsoState };
    const [opened] = await this.database.execute(OPEN_BILL, parameters, BILL_READERS);
    return opened;
  }

  protected override isAbandoned(now: Statement): Statement {
    return sql`state = 'CREATING' AND lease_until < ${now}`;
  }
}
