import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { instant, integer } from '../../database/reading.js';
import { countWhere, sql } from '../../database/statement.js';
import type { BillId } from '../../domain/ids.js';

/** A bill for which the service is known to list payments. */
export interface SampleBill {
  readonly billId: BillId;
  readonly currency: string;
  readonly openedAt: Date;
}

/** What genuine postbacks had in common. */
export interface PostbackEvidence {
  readonly confirmed: number;
  readonly digestMatches: number;
  readonly digestAbsent: number;
  readonly amountMatches: number;
  readonly orderMatches: number;
  /** Postbacks of bills for which the shop supplied `custom`. */
  readonly customGiven: number;
  readonly customMatches: number;
}

/** SUCCESS payments, by how their amount compares with their bill's. */
export interface AmountEvidence {
  readonly asBilled: number;
  readonly less: number;
  readonly moreWithCommission: number;
  readonly moreOtherwise: number;
}

/** What is known about the service's behaviour, apart from its answers now. */
export type Evidence = Pick<EvidenceStore, 'billsWithPayments' | 'postbacks' | 'amounts'>;

/** Where there is no database. */
export const NO_EVIDENCE: Evidence = {
  billsWithPayments: () => Promise.resolve([]),
  postbacks: () =>
    Promise.resolve({
      confirmed: 0,
      digestMatches: 0,
      digestAbsent: 0,
      amountMatches: 0,
      orderMatches: 0,
      customGiven: 0,
      customMatches: 0,
    }),
  amounts: () => Promise.resolve({ asBilled: 0, less: 0, moreWithCommission: 0, moreOtherwise: 0 }),
};

/** What the tables reveal about the service's behaviour. Read-only. */
@Injectable()
export class EvidenceStore {
  constructor(private readonly database: Database) {}

  /** The bills with the latest payments. */
  async billsWithPayments(shop: string, limit: number): Promise<SampleBill[]> {
    return this.database.rows<SampleBill>(
      sql`SELECT b.service_bill_id AS "billId", b.currency, ${this.database.dialect.epochMs('b.opened_at')} AS "openedAt"
       FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.id = p.bill_id
       WHERE p.shop = ${shop} AND p.service_status IS NOT NULL AND b.service_bill_id IS NOT NULL
       GROUP BY b.id, b.service_bill_id, b.currency, b.opened_at ORDER BY max(p.first_seen_at) DESC LIMIT ${limit}`,
      { openedAt: instant },
    );
  }

  /** The latest postbacks that the service's list has confirmed: these must be genuine. */
  async postbacks(shop: string, limit: number): Promise<PostbackEvidence> {
    const { dialect } = this.database;
    const matches = (what: string) => sql`${dialect.jsonText('corroboration', what)} = 'match'`;
    const [evidence] = await this.database.rows<PostbackEvidence>(
      sql`SELECT count(*) AS confirmed, ${countWhere(sql`digest = 'match'`)} AS "digestMatches",
         ${countWhere(sql`digest = 'absent'`)} AS "digestAbsent", ${countWhere(matches('amount'))} AS "amountMatches",
         ${countWhere(matches('order'))} AS "orderMatches", ${countWhere(sql`custom_given AND ${dialect.jsonText('corroboration', 'custom')} IS NOT NULL`)} AS "customGiven",
         ${countWhere(sql`custom_given AND ${matches('custom')}`)} AS "customMatches"
       FROM (SELECT c.digest, c.corroboration, b.custom_given FROM payment_acceptance.callback c
         JOIN payment_acceptance.bill b ON b.id = c.bill_id
         WHERE c.shop = ${shop} AND c.kind = 'postback' AND c.outcome = 'confirmed'
         ORDER BY c.received_at DESC LIMIT ${limit}) latest`,
      {
        confirmed: integer,
        digestMatches: integer,
        digestAbsent: integer,
        amountMatches: integer,
        orderMatches: integer,
        customGiven: integer,
        customMatches: integer,
      },
    );
    if (!evidence) throw new Error('The postbacks of a shop could not be counted.');
    return evidence;
  }

  /** The latest SUCCESS payments in the currency of their bill. */
  async amounts(shop: string, limit: number): Promise<AmountEvidence> {
    const [evidence] = await this.database.rows<AmountEvidence>(
      sql`SELECT ${countWhere(sql`paid = billed`)} AS "asBilled", ${countWhere(sql`paid < billed`)} AS less,
         ${countWhere(sql`paid > billed AND commission`)} AS "moreWithCommission",
         ${countWhere(sql`paid > billed AND NOT commission`)} AS "moreOtherwise"
       FROM (SELECT p.amount AS paid, b.amount AS billed, b.payer_pays_commission AS commission
         FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.id = p.bill_id
         WHERE p.shop = ${shop} AND p.status = 'SUCCESS' AND p.currency = b.currency
         ORDER BY p.first_seen_at DESC LIMIT ${limit}) latest`,
      { asBilled: integer, less: integer, moreWithCommission: integer, moreOtherwise: integer },
    );
    if (!evidence) throw new Error('The amounts of a shop could not be compared.');
    return evidence;
  }
}
