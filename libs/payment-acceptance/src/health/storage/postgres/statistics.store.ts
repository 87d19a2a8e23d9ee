import { StatisticsStore, type OldestDelivery } from '../statistics.store.js';
import { sql } from '../../../database/statement.js';

const CONSUMERS = sql`(SELECT DISTINCT name FROM payment_acceptance.consumer) c`;

/** The deliveries that wait for the consumer `c`. */
const WAITING = sql`payment_acceptance.delivery d WHERE d.state = 'PENDING' AND d.consumer = c.name`;

/** Asks the index of each consumer in turn. */
export class PostgresStatisticsStore extends StatisticsStore {
  protected override oldest(): Promise<OldestDelivery[]> {
    return this.database.rows<OldestDelivery>({})`
      SELECT c.name AS consumer, oldest.code, oldest.seq::text AS seq FROM ${CONSUMERS} CROSS JOIN LATERAL (
      (SELECT d.last_error_code AS code, d.seq FROM ${WAITING} ORDER BY d.seq LIMIT 1)
      UNION ALL
      (SELECT d.last_error_code, d.seq FROM ${WAITING} AND d.last_error_code IS NOT NULL ORDER BY d.seq LIMIT 1)) oldest`;
  }
}
