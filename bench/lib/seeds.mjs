import { query } from './database.mjs';
import { AMOUNT, SHOP } from './postback-bodies.mjs';

/**
 * Open bills of the module's, as `createBill` leaves them, for the postbacks of postback-bodies.mjs.
 * `firstCheck`: when the first check is due that no postback asks for; the default is that of the module's schedule.
 * @param {string} url
 * @param {number} bills
 * @param {number} [from]
 * @param {{ firstCheck?: string }} [options]
 */
export async function seedBills(url, bills, from = 0, { firstCheck = '1 minute' } = {}) {
  await query(
    url,
    `INSERT INTO payment_acceptance.shop_order (shop, order_id) SELECT $1, 'order-' || n FROM generate_series($3::int, $3::int + $2::int - 1) n`,
    [SHOP.name, bills, from],
  );
  await query(
    url,
    `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type,
       custom, custom_given, bill_id, link_page_url, created_at, opened_at, next_check_at, check_after)
     SELECT ${timeOrdered('bill', 'clock_timestamp()')}, $1, $1, 'order-' || n, 1, 'OPEN', $3, 'RUB', false, 'normal', 'cart ' || n, true, 'bill-' || n,
       'https://service.example/' || n, now(), now(), now() + $5::interval, now()
     FROM generate_series($4::int, $4::int + $2::int - 1) n`,
    [SHOP.name, bills, AMOUNT, from, firstCheck],
  );
  await query(url, 'VACUUM ANALYZE payment_acceptance.bill');
}

/**
 * So many open bills of each of many shops, none of which is to be checked soon.
 * @param {string} url
 * @param {number} shops
 * @param {number} bills
 */
export async function seedShops(url, shops, bills) {
  const each = `generate_series(0, $1::int - 1) s CROSS JOIN generate_series(1, $2::int) o`;
  await query(
    url,
    `INSERT INTO payment_acceptance.shop_order (shop, order_id) SELECT 'shop-' || s, 'shop-' || s, 'order-' || o FROM ${each}`,
    [shops, bills],
  );
  await query(
    url,
    `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type,
       custom, custom_given, bill_id, link_page_url, created_at, opened_at, next_check_at, check_after)
     SELECT gen_random_uuid(), 'shop-' || s, 'shop-' || s, 'order-' || o, 1, 'OPEN', $3, 'RUB', false, 'normal', 'cart', true, 'bill-' || o,
       'https://service.example/' || o, now(), now(), now() + interval '1 day', now() FROM ${each}`,
    [shops, bills, AMOUNT],
  );
  await query(url, 'VACUUM ANALYZE');
}

/**
 * Events of so many of those bills, whose deliveries wait for a consumer that no instance has hosted for a month.
 * @param {string} url
 * @param {number} deliveries
 */
export async function seedWaiting(url, deliveries) {
  const MONTH_AGO = `now() - interval '30 days'`;
  await query(
    url,
    `INSERT INTO payment_acceptance.consumer (name, event_name, last_seen_at)
     VALUES ('absent', 'payment.succeeded', ${MONTH_AGO})`,
  );
  await query(
    url,
    `INSERT INTO payment_acceptance.event (id, key, name, shop, intent_id, payload, occurred_at)
     SELECT gen_random_uuid(), 'payment.succeeded:' || intent_id, 'payment.succeeded', shop, intent_id, '{}', now()
     FROM payment_acceptance.bill WHERE shop LIKE 'shop-%' LIMIT $1`,
    [deliveries],
  );
  await query(
    url,
    `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, attempts, due_at)
     SELECT id, name, seq, intent_id, 'absent', 'PENDING', 0, occurred_at FROM payment_acceptance.event WHERE shop LIKE 'shop-%'`,
  );
  await query(url, 'VACUUM ANALYZE');
}

/**
 * The orders of tutorial.mjs for the same postbacks.
 * @param {string} url
 * @param {number} orders
 */
export async function seedOrders(url, orders) {
  await query(
    url,
    `INSERT INTO tutorial_order (id, "billId", status) SELECT 'order-' || n, 'bill-' || n, 'pending' FROM generate_series(0, $1::int - 1) n`,
    [orders],
  );
  await query(url, 'VACUUM ANALYZE tutorial_order');
}

/**
 * Where bare-fastify.mjs and pgbench insert.
 * @param {string} url
 */
export async function makePostbackTable(url) {
  await query(
    url,
    `CREATE TABLE postback (id uuid PRIMARY KEY, bill_id text NOT NULL, order_id text NOT NULL, status text NOT NULL,
       body jsonb NOT NULL, received_at timestamptz NOT NULL DEFAULT now())`,
  );
  await query(url, 'CREATE INDEX ON postback (bill_id)');
}

/**
 * The orders of orders.mjs for the same postbacks, unpaid.
 * @param {string} url
 * @param {number} orders
 * @param {number} [from]
 */
export async function seedShopOrders(url, orders, from = 0) {
  await query(url, 'TRUNCATE shop_order');
  await query(
    url,
    `INSERT INTO shop_order (id, "billId", status) SELECT 'order-' || n, 'bill-' || n, 'pending' FROM generate_series($2::int, $2::int + $1::int - 1) n`,
    [orders, from],
  );
  await query(url, 'VACUUM ANALYZE shop_order');
}

/**
 * Payments that ended long ago, each with its order, bill, callback, event and delivery: six rows.
 * @param {string} url
 * @param {number} payments
 */
export async function seedHistory(url, payments) {
  const step = 100_000;
  for (let first = 0; first < payments; first += step) {
    const last = Math.min(first + step, payments) - 1;
    for (const statement of HISTORY) await query(url, statement, [SHOP.name, first, last]);
  }
  await query(url, 'VACUUM ANALYZE');
}

/**
 * SQL for the id that the module gives to the bill or the callback `n` of that moment: random, after the time.
 * @param {string} kind
 * @param {string} at
 */
function timeOrdered(kind, at) {
  const random = `md5('${kind}' || n)`;
  return `(lpad(to_hex(floor(extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '7' || substr(${random}, 1, 3) || '8' ||
    substr(${random}, 4, 15))::uuid`;
}

const NUMBERS = 'generate_series($2::int, $3::int) n';
/** Of the last weeks, of which nothing is due to be deleted. */
const BEGAN = new Date(Date.now() - 25 * 86_400_000).toISOString();
const THEN = `timestamptz '${BEGAN}' + n * interval '1 second'`;
/** @param {string} kind */
const ID = (kind) => (kind === 'event' ? `md5('event' || n)::uuid` : timeOrdered(kind, THEN));
const HISTORY = [
  `INSERT INTO payment_acceptance.shop_order SELECT $1, 'old-' || n, 'payment-of-old-' || n FROM ${NUMBERS}`,
  `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type, custom,
     custom_given, bill_id, link_page_url, created_at, opened_at, paid_at, ended_at, check_after, checks)
   SELECT ${ID('bill')}, $1, $1, 'old-' || n, 1, 'PAID', 10, 'RUB', false, 'normal', 'cart ' || n, true, 'old-' || n,
     'https://service.example/' || n, ${THEN}, ${THEN}, ${THEN}, ${THEN}, ${THEN}, 30 FROM ${NUMBERS}`,
  `INSERT INTO payment_acceptance.payment (shop, payment_id, intent_id, status, amount, currency, verdict, first_seen_at, changed_at)
   SELECT $1, 'payment-of-old-' || n, ${ID('bill')}, 'SUCCESS', 10, 'RUB', 'succeeded', ${THEN}, ${THEN} FROM ${NUMBERS}`,
  `INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id, status, digest, corroboration, fields,
     received_at, pending, due_at, outcome, consumed_at)
   SELECT ${ID('callback')}, 'postback', $1, ${ID('bill')}, 'old-' || n, 'old-' || n, 'SUCCESS', 'match', '{}', '{}',
     ${THEN}, false, ${THEN}, 'confirmed', ${THEN} FROM ${NUMBERS}`,
  `INSERT INTO payment_acceptance.event (id, key, name, shop, intent_id, payload, occurred_at)
   SELECT ${ID('event')}, 'payment.succeeded:old-' || n, 'payment.succeeded', $1, ${ID('bill')}, '{}', ${THEN} FROM ${NUMBERS}`,
  `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, attempts, due_at, ended_at)
   SELECT e.id, e.name, e.seq, e.intent_id, 'orders', 'DONE', 1, e.occurred_at, e.occurred_at FROM ${NUMBERS}
   JOIN payment_acceptance.event e ON e.shop = $1 AND e.id = ${ID('event')}`,
];
