import { Injectable } from '@nestjs/common';
import type { LostBill } from '../records.js';
import { isUuid } from '../../domain/uuid.js';
import { Database } from '../../database/database.js';
import { IS_LOST, IS_WAITING } from '../../settlement/storage/lost-bills.js';
import { integer, json, type ColumnReaders } from '../../database/reading.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

const LOST_BILL_READERS: ColumnReaders<LostBill> = { namedOrderCount: integer, payments: json, paymentCount: integer };

@Injectable()
export class LostBillStore {
  constructor(private readonly database: Database) {}

  list(limit: number, scope: ShopScope, after?: string): Promise<LostBill[]> {
    const afterCursor =
      after !== undefined && isUuid(after)
        ? sql`AND (l.found_at, l.id) > (SELECT found_at, id FROM payment_acceptance.lost_bill
           WHERE id = ${after} AND ${ofScope('shop', scope)})`
        : rawSql('');
    return this.read(sql`${ofScope('l.shop', scope)} ${afterCursor} ORDER BY l.found_at, l.id LIMIT ${limit}`);
  }

  /** `undefined` if there is no such bill, or it is no longer lost. */
  async byId(id: string, scope: ShopScope): Promise<LostBill | undefined> {
    if (!isUuid(id)) return undefined;
    const [lost] = await this.read(sql`l.id = ${id} AND ${ofScope('l.shop', scope)}`);
    return lost;
  }

  /** Also removes the payments that the service listed, which are not ours to keep. */
  async dismiss(tx: OwnTransaction, id: string): Promise<boolean> {
    const dismissed = await tx.change`
      UPDATE payment_acceptance.lost_bill SET state = 'DISMISSED', ask_after = NULL, payments = NULL WHERE id = ${id} AND state = 'LOST'`;
    return dismissed === 1;
  }

  private read(which: Statement): Promise<LostBill[]> {
    const { iso, text } = this.database.dialect;
    return this.database.rows<LostBill>(LOST_BILL_READERS)`
      SELECT l.id, l.shop, l.bill_id AS "billId", l.order_id AS "namedOrderId", (
          SELECT count(DISTINCT c.order_id) FROM payment_acceptance.callback c WHERE c.shop = l.shop
            AND c.bill_id = l.bill_id AND ${IS_WAITING}) AS "namedOrderCount", (
          SELECT u.intent_id FROM payment_acceptance.bill u WHERE u.shop = l.shop AND u.order_id = l.order_id
            AND u.state = 'UNKNOWN' ORDER BY u.attempt DESC LIMIT 1) AS "unknownIntentId",
        ${text('l.payments')} AS payments, l.listed AS "paymentCount", ${iso('l.first_postback_at')} AS "firstPostbackAt",
        ${iso('l.found_at')} AS "foundAt", ${iso('l.asked_at')} AS "askedAt"
      FROM payment_acceptance.lost_bill l WHERE ${IS_LOST} AND ${which}`;
  }
}
