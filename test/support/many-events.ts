import { ON_MARIADB } from './database.js';
import type { Harness } from './harness.js';

/** The events of {@link addEvents}. */
export const MADE = `${ON_MARIADB ? '`key`' : 'key'} LIKE 'made-%'`;

/** Adds events to those of an order's bill, without deliveries; their payments are `p-1`, `p-2` and so on. */
export async function addEvents({ host }: Harness, orderId: string, count: number): Promise<void> {
  const [id, key, name, numbers, payload] = ON_MARIADB
    ? [
        ...['UUID()', '`key`', `CONCAT('made-', n)`, `(SELECT seq AS n FROM seq_1_to_${count}) made`],
        `JSON_SET(e.payload, '$.paymentId', CONCAT('p-', n))`,
      ]
    : [
        ...['gen_random_uuid()', 'key', `'made-' || n`, `generate_series(1, ${count}) n`],
        `jsonb_set(e.payload, '{paymentId}', to_jsonb('p-' || n))`,
      ];
  await host.dataSource.query(
    `INSERT INTO payment_acceptance.event (id, ${key}, name, shop, intent_id, payload, occurred_at)
     SELECT ${id}, ${name}, e.name, e.shop, e.intent_id, ${payload}, e.occurred_at
     FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.intent_id = e.intent_id, ${numbers}
     WHERE b.order_id = '${orderId}' ORDER BY n`,
  );
}
