import { StatisticsStore, type OldestDelivery } from '../statistics.store.js';

/** Grouped by all of the index up to `seq`, MariaDB reads the first of each error and consumer, and skips the others. */
export class MariaStatisticsStore extends StatisticsStore {
  protected override oldest(): Promise<OldestDelivery[]> {
    return this.database.rows<OldestDelivery>({})`
      SELECT consumer, last_error_code AS code, CAST(min(seq) AS CHAR) AS seq FROM payment_acceptance.delivery
      WHERE state = 'PENDING' GROUP BY state, last_error_code, consumer`;
  }
}
