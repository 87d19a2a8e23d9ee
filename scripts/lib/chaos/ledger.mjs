const QUERIES = {
  bills: `SELECT id, shop, order_id AS "orderId", attempt, state, service_bill_id AS "billId"
    FROM payment_acceptance.bill`,
  payments: `SELECT payment_id AS id, status FROM payment_acceptance.payment`,
  events: `SELECT e.id, e.name, e.payload ->> 'paymentId' AS "paymentId", b.order_id AS "orderId"
    FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.id = e.bill_id`,
  deliveries: `SELECT d.id::text, d.event_name AS name, d.state, d.attempts, d.last_error AS error
    FROM payment_acceptance.delivery d`,
  reviews: `SELECT reason, payment_id AS "paymentId", order_id AS "orderId" FROM payment_acceptance.review`,
  callbacks: `SELECT kind, order_id AS "orderId", service_bill_id AS "trsId", status, fields ->> 'OutSum' AS "outSum",
    pending, bill_id IS NOT NULL AS matched FROM payment_acceptance.callback`,
  orders: `SELECT id::text, status, amount::text, currency FROM shop_order`,
  effects: `SELECT order_id::text AS "orderId", name, payment_id AS "paymentId" FROM shop_order_event`,
};

/** What the module and the shop have recorded, read straight from their tables, all of one instant. */
export function readLedger(database) {
  return database.query(async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const ledger = {};
    for (const [name, sql] of Object.entries(QUERIES)) ledger[name] = (await client.query(sql)).rows;
    await client.query('COMMIT');
    return ledger;
  });
}
