import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { integer } from '../../database/reading.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { countWhere, rawSql, sql, type Statement } from '../../database/statement.js';
import type { BillId } from '../../domain/ids.js';
import { isQueryFailure } from '../../database/query-failed.error.js';

const DAY_MS = 24 * 3_600_000;

/** All tables, with a column of each. */
const WRITTEN_TABLES = {
  ...{ bill: 'shop', payment: 'shop', callback: 'shop', event: 'shop', review: 'shop', lost_bill: 'shop' },
  ...{ shop_order: 'shop', shop_state: 'shop', consumer: 'name', delivery: 'consumer', operator_action: 'operator' },
};

const DELETED_FROM = new Set(['callback', 'lost_bill', 'consumer', 'delivery']);

@Injectable()
export class DoctorStore {
  constructor(private readonly database: Database) {}

  /** The bill with the latest payment: the service is known to list payments for it. */
  async billWithPayments(shop: string): Promise<BillId | undefined> {
    const [bill] = await this.database.withTimeout(LONG_STATEMENT_TIMEOUT_MS).rows<{ billId: BillId }>({})`
      SELECT b.bill_id AS "billId" FROM payment_acceptance.payment p
      JOIN payment_acceptance.bill b ON b.intent_id = p.intent_id
      WHERE p.shop = ${shop} AND p.service_status IS NOT NULL AND b.bill_id IS NOT NULL
      ORDER BY p.first_seen_at DESC LIMIT 1`;
    return bill?.billId;
  }

  /** Digests of postbacks that the service's list has confirmed. */
  async digests(shop: string) {
    const [evidence] = await this.database
      .withTimeout(LONG_STATEMENT_TIMEOUT_MS)
      .rows<{ confirmed: number; matching: number; absent: number }>({
        confirmed: integer,
        matching: integer,
        absent: integer,
      })`
      SELECT count(*) AS confirmed, ${countWhere(sql`digest = 'match'`)} AS matching,
        ${countWhere(sql`digest = 'absent'`)} AS absent
      FROM (SELECT digest FROM payment_acceptance.callback
        WHERE pending = FALSE AND shop = ${shop} AND kind = 'postback' AND outcome = 'confirmed' ORDER BY received_at DESC LIMIT 1000) latest`;
    return evidence ?? { confirmed: 0, matching: 0, absent: 0 };
  }

  /** How many of the bills last paid, within a day, had a postback. */
  async postbacks(shop: string) {
    const announced = sql`EXISTS (SELECT 1 FROM payment_acceptance.callback c
      WHERE c.intent_id = latest.intent_id AND c.kind = 'postback')`;
    const [evidence] = await this.database
      .withTimeout(LONG_STATEMENT_TIMEOUT_MS)
      .rows<{ paid: number; announced: number }>({ paid: integer, announced: integer })`
      SELECT count(*) AS paid, ${countWhere(announced)} AS announced
      FROM (SELECT intent_id FROM payment_acceptance.bill WHERE shop = ${shop} AND state = 'PAID'
        AND paid_at > ${this.database.now(-DAY_MS)} ORDER BY paid_at DESC LIMIT 100) latest`;
    return evidence ?? { paid: 0, announced: 0 };
  }

  /** Returns what the database denies the user of this data source, by trying statements that match no row. */
  async missingPrivilege(): Promise<string | undefined> {
    try {
      // MariaDB would miss values for the other columns.
      const insert = rawSql(this.database.source.type === 'mariadb' ? 'INSERT IGNORE' : 'INSERT');
      for (const names of Object.entries(WRITTEN_TABLES)) {
        const [table, column] = names.map(rawSql) as [Statement, Statement];
        await this.database.change`${insert} INTO payment_acceptance.${table} (${column})
          SELECT ${column} FROM payment_acceptance.${table} WHERE 1 = 0`;
        await this.database.change`UPDATE payment_acceptance.${table} SET ${column} = ${column} WHERE 1 = 0`;
        if (DELETED_FROM.has(names[0])) await this.database.change`DELETE FROM payment_acceptance.${table} WHERE 1 = 0`;
      }
      return undefined;
    } catch (error) {
      if (!isQueryFailure(error)) throw error;
      return error.message;
    }
  }
}
