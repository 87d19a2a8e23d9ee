/** Statements that PostgreSQL and MariaDB understand alike; what is in a JSON column is read below. */
const QUERIES = {
  bills: `SELECT id, shop, order_id AS "orderId", attempt, state, service_bill_id AS "billId"
    FROM payment_acceptance.bill`,
  payments: `SELECT payment_id AS id, status FROM payment_acceptance.payment`,
  events: `SELECT e.id, e.name, e.payload, b.order_id AS "orderId"
    FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.id = e.bill_id`,
  deliveries: `SELECT d.id, d.event_name AS name, d.state, d.attempts, d.last_error AS error
    FROM payment_acceptance.delivery d`,
  reviews: `SELECT reason, payment_id AS "paymentId", order_id AS "orderId" FROM payment_acceptance.review`,
  callbacks: `SELECT kind, order_id AS "orderId", service_bill_id AS "trsId", status, fields,
    pending, bill_id IS NOT NULL AS matched FROM payment_acceptance.callback`,
  orders: `SELECT id, status FROM shop_order`,
  effects: `SELECT order_id AS "orderId", name, payment_id AS "paymentId" FROM shop_order_event`,
};

/** What the module and the shop have recorded, read straight from their tables, all of one instant. */
export function readLedger(database) {
  return database.query(async (client) => {
    await client.query(database.kind.snapshot);
    const ledger = {};
    for (const [name, sql] of Object.entries(QUERIES)) ledger[name] = await client.query(sql);
    await client.query('COMMIT');
    ledger.events = ledger.events.map(({ payload, ...row }) => ({ ...row, paymentId: json(payload).paymentId }));
    ledger.callbacks = ledger.callbacks.map(({ fields, ...row }) => ({ ...row, outSum: json(fields).OutSum }));
    return ledger;
  });
}

/** Some drivers read a JSON column, some leave it as it is. */
function json(value) {
  return typeof value === 'string' ? JSON.parse(value) : value;
}
