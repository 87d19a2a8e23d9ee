import { Injectable } from '@nestjs/common';
import { Database } from './database.js';
import { epochMs, instant, type Texts } from './sql.js';
import type { BillId } from '../domain/ids.js';

/** A bill that the service is known to have payments of. */
export interface SampleBill {
  readonly billId: BillId;
  readonly currency: string;
  readonly openedAt: Date;
}

/** What postbacks that proved genuine had in common. */
export interface PostbackEvidence {
  readonly confirmed: number;
  readonly digestMatches: number;
  readonly digestAbsent: number;
  readonly amountMatches: number;
  readonly orderMatches: number;
  /** Of those whose bill was given a `custom` by the shop. */
  readonly customGiven: number;
  readonly customMatches: number;
}

/** SUCCESS payments, by how their amount relates to their bill's. */
export interface AmountEvidence {
  readonly asBilled: number;
  readonly less: number;
  readonly moreWithCommission: number;
  readonly moreOtherwise: number;
}

/** What the tables show of the service's behaviour. Changes nothing. */
@Injectable()
export class EvidenceStore {
  constructor(private readonly database: Database) {}

  /** The bills with the latest payments. */
  async billsWithPayments(shop: string, limit: number): Promise<SampleBill[]> {
    const rows = await this.database.query<Texts<SampleBill, 'openedAt'>>(
      `SELECT b.service_bill_id AS "billId", b.currency, ${epochMs('b.opened_at')} AS "openedAt"
       FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.id = p.bill_id
       WHERE p.shop = $1 AND p.service_status IS NOT NULL AND b.service_bill_id IS NOT NULL
       GROUP BY b.id, b.service_bill_id, b.currency, b.opened_at ORDER BY max(p.first_seen_at) DESC LIMIT $2`,
      [shop, limit],
    );
    return rows.map((row) => ({ ...row, openedAt: instant(row.openedAt) }));
  }

  /** The latest postbacks whose claim the service's list has confirmed: nobody else can have made those. */
  async postbacks(shop: string, limit: number): Promise<PostbackEvidence> {
    const count = (condition: string): string => `count(*) FILTER (WHERE ${condition})::int`;
    const [evidence] = await this.database.query<PostbackEvidence>(
      `SELECT count(*)::int AS confirmed, ${count(`digest = 'match'`)} AS "digestMatches",
         ${count(`digest = 'absent'`)} AS "digestAbsent",
         ${count(`corroboration ->> 'amount' = 'match'`)} AS "amountMatches",
         ${count(`corroboration ->> 'order' = 'match'`)} AS "orderMatches",
         ${count('custom_given')} AS "customGiven",
         ${count(`custom_given AND corroboration ->> 'custom' = 'match'`)} AS "customMatches"
       FROM (SELECT c.digest, c.corroboration, b.custom_given FROM payment_acceptance.callback c
         JOIN payment_acceptance.bill b ON b.id = c.bill_id
         WHERE c.shop = $1 AND c.kind = 'postback' AND c.outcome = 'confirmed'
         ORDER BY c.received_at DESC LIMIT $2) latest`,
      [shop, limit],
    );
    if (!evidence) throw new Error('The postbacks of a shop could not be counted.');
    return evidence;
  }

  /** The latest SUCCESS payments in the currency of their bill. */
  async amounts(shop: string, limit: number): Promise<AmountEvidence> {
    const [evidence] = await this.database.query<AmountEvidence>(
      `SELECT count(*) FILTER (WHERE paid = billed)::int AS "asBilled", count(*) FILTER (WHERE paid < billed)::int AS less,
         count(*) FILTER (WHERE paid > billed AND commission)::int AS "moreWithCommission",
         count(*) FILTER (WHERE paid > billed AND NOT commission)::int AS "moreOtherwise"
       FROM (SELECT p.amount AS paid, b.amount AS billed, b.payer_pays_commission AS commission
         FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.id = p.bill_id
         WHERE p.shop = $1 AND p.status = 'SUCCESS' AND p.currency = b.currency
         ORDER BY p.first_seen_at DESC LIMIT $2) latest`,
      [shop, limit],
    );
    if (!evidence) throw new Error('The amounts of a shop could not be compared.');
    return evidence;
  }
}
