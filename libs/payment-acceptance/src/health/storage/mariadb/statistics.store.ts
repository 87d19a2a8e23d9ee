import { StatisticsStore, type OldestDelivery } from '../statistics.store.js';
import { isHeld } from '../../../events/storage/delivery.store.js';
import { COUNTED, sql } from '../../../database/statement.js';

/** Grouped by all of the index up to `seq`, MariaDB reads the first of each error and consumer, and skips the others. */
export class MariaStatisticsStore extends StatisticsStore {
  protected override oldest(): Promise<OldestDelivery[]> {
    return this.database.rows<OldestDelivery>(
      sql`SELECT consumer, last_error_code AS code, CAST(min(seq) AS CHAR) AS seq FROM payment_acceptance.delivery
       WHERE state = 'PENDING' GROUP BY state, last_error_code, consumer`,
      {},
    );
  }

  protected override async oldestFree(): Promise<OldestDelivery[]> {
    const free: OldestDelivery[] = [];
    for (const { consumer, code } of await this.oldest()) {
      const first = await this.database.rows<OldestDelivery>(
        sql`SELECT d.consumer, d.code, CAST(d.seq AS CHAR) AS seq FROM (
           SELECT consumer, last_error_code AS code, seq, bill_id FROM payment_acceptance.delivery FORCE INDEX (delivery_waiting)
           WHERE state = 'PENDING' AND last_error_code <=> ${code} AND consumer = ${consumer} ORDER BY seq LIMIT ${COUNTED}) d
         WHERE NOT ${isHeld('d.bill_id')} ORDER BY d.seq LIMIT 1`,
        {},
      );
      free.push(...first);
    }
    return free;
  }
}
