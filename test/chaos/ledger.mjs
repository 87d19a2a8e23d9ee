/** @import { AnyDatabase, Row } from './connections.mjs' */

/**
 * What the module and the shop have on record.
 * @typedef {object} Ledger
 * @property {{ id: string; shop: string; orderId: string; attempt: number; state: string; billId: string | null }[]} bills
 * @property {{ id: string; status: string }[]} payments
 * @property {{ id: string; name: string; paymentId: string; orderId: string }[]} events
 * @property {{ id: string; name: string; state: string; attempts: number; error: string | null }[]} deliveries
 * @property {{ reason: string; paymentId: string | null; orderId: string }[]} reviews
 * @property {StoredCallback[]} callbacks
 * @property {{ id: string; status: string }[]} orders
 * @property {{ orderId: string; name: string; paymentId: string }[]} effects
 */

/**
 * @typedef {object} StoredCallback
 * @property {string} kind
 * @property {string | null} orderId
 * @property {string | null} trsId
 * @property {string | null} status
 * @property {string | null} outSum
 * @property {boolean | number} pending
 * @property {boolean | number} matched to one of our bills
 */

/** Statements that PostgreSQL and MariaDB understand alike; what is in a JSON column is read below. */
const QUERIES = {
  bills: `SELECT intent_id AS id, shop, order_id AS "orderId", attempt, state, bill_id AS "billId"
    FROM payment_acceptance.bill`,
  payments: `SELECT payment_id AS id, status FROM payment_acceptance.payment`,
  events: `SELECT e.id, e.name, e.payload, b.order_id AS "orderId"
    FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.intent_id = e.intent_id`,
  deliveries: `SELECT d.id, d.event_name AS name, d.state, d.attempts, d.last_error AS error
    FROM payment_acceptance.delivery d`,
  reviews: `SELECT reason, payment_id AS "paymentId", order_id AS "orderId" FROM payment_acceptance.review`,
  callbacks: `SELECT kind, order_id AS "orderId", bill_id AS "trsId", status, fields,
    pending, intent_id IS NOT NULL AS matched FROM payment_acceptance.callback`,
  orders: `SELECT id, status FROM shop_order`,
  effects: `SELECT order_id AS "orderId", name, payment_id AS "paymentId" FROM shop_order_event`,
};

/**
 * What the module and the shop have recorded, read straight from their tables, all of one instant.
 * @param {Pick<AnyDatabase, 'kind' | 'query'>} database
 * @returns {Promise<Ledger>}
 */
export function readLedger(database) {
  return database.query(async (client) => {
    await client.query(database.kind.snapshot);
    /** @type {Record<string, Row[]>} */
    const tables = {};
    for (const [name, sql] of Object.entries(QUERIES)) tables[name] = await client.query(sql);
    await client.query('COMMIT');
    const { events = [], callbacks = [], ...others } = tables;
    const ledger = {
      ...others,
      events: events.map(({ payload, ...row }) => ({ ...row, paymentId: json(payload).paymentId })),
      callbacks: callbacks.map(({ fields, ...row }) => ({ ...row, outSum: json(fields).OutSum })),
    };
    return /** @type {Ledger} */ (ledger);
  });
}

/**
 * Some drivers read a JSON column, some leave it as it is.
 * @param {any} value
 */
function json(value) {
  return typeof value === 'string' ? JSON.parse(value) : value;
}
