// What the module does with a postback, written by hand: Fastify, pg, and the module's own table. No framework, no option, and
// none of the cases that are not the common one: those are told apart and given up.
import Fastify from 'fastify';
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { setImmediate } from 'node:timers';
import pg from 'pg';
import { options, ready } from '../lib/contestant.mjs';
import { SHOP } from '../lib/postback-bodies.mjs';

/** @typedef {Record<string, unknown>} Body */
/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} bill
 * @property {string} order_id
 * @property {string} status
 * @property {string} digest
 * @property {string | null} amount
 * @property {string | null} currency
 * @property {string | null} custom
 * @property {Body} fields
 */
/** @typedef {{ row: Row; resolve(value?: unknown): void; reject(error: unknown): void }} Waiting */

const MAX_PER_BILL = 100;
const MAX_BATCH = 256;
const MAX_WAITING = 5_000;

/** @type {[field: string, isRight: (text: string) => boolean][]} */
const REQUIRED = Object.entries({
  InvId: (text) => text.length >= 1 && text.length <= 255,
  OutSum: (text) => /^-?\d{1,20}(\.\d{1,10})?$/.test(text),
  Status: (text) => text.length >= 1 && text.length <= 64,
  TrsId: (text) => text.length >= 1 && text.length <= 128,
});

/**
 * Digits that may be a card number are twelve at least; what has fewer is as it should be.
 * @param {string} text
 */
function needsMasking(text) {
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) digits++;
  }
  return digits >= 12;
}

/**
 * The fields as they are kept: without the digest. `undefined` where something is nested, odd or to be masked.
 * @param {Body} body
 */
function keptFields(body) {
  /** @type {Body} */
  const kept = {};
  let length = 0;
  for (const name of Object.keys(body)) {
    if (/signature/i.test(name)) continue;
    const value = body[name];
    if (typeof value === 'object' && value !== null) return undefined;
    const text = String(value);
    length += name.length + text.length;
    if (/[^ -~]/.test(text) || needsMasking(text) || needsMasking(name)) return undefined;
    kept[name] = value;
  }
  return length <= 4_000 ? kept : undefined;
}

/** @param {Body} body */
function digestOf({ OutSum, InvId, SignatureValue }) {
  if (!SignatureValue) return 'absent';
  const expected = Buffer.from(hash('md5', `${OutSum}:${InvId}:${SHOP.token}`, 'hex').toUpperCase(), 'latin1');
  const given = Buffer.from(String(SignatureValue), 'utf8');
  return given.length === expected.length && timingSafeEqual(given, expected) ? 'match' : 'mismatch';
}

/** An amount that is told in another way agrees with no bill. */
const CENTS = /^-?\d{1,8}\.\d{2}$/;

/** In the order of time, so that rows that come together lie together in the index. */
function timeOrderedId() {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** @type {(own: string, told: string) => string} */
const agrees = (own, told) =>
  `CASE WHEN ${told} IS NULL THEN 'absent' WHEN ${told} = ${own} THEN 'match' ELSE 'mismatch' END`;
const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 1 });
const INSERT = {
  name: 'insert',
  text: `WITH stored AS (INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id, status,
      digest, corroboration, fields, received_at, pending, due_at)
    SELECT t.id, 'postback', $2, b.intent_id, t.bill, t.order_id, t.status, t.digest,
      CASE WHEN (t.order_id, t.amount, t.currency, t.custom) = (b.order_id, b.amount, b.currency, b.custom)
        THEN '{"order": "match", "amount": "match", "currency": "match", "custom": "match"}'::jsonb
        ELSE jsonb_build_object('order', ${agrees('b.order_id', 't.order_id')},
          'amount', CASE WHEN t.amount = b.amount THEN 'match' ELSE 'mismatch' END,
          'currency', ${agrees('b.currency', 't.currency')}, 'custom', ${agrees('b.custom', 't.custom')}) END,
      t.fields, now() + t.nr * interval '1 microsecond', true, now()
    FROM json_to_recordset($1::json) AS t(nr int, place int, id uuid, bill text, order_id text, status text, digest text,
      amount numeric, currency text, custom text, fields jsonb)
    JOIN LATERAL (SELECT intent_id, order_id, amount, currency, custom FROM payment_acceptance.bill
      WHERE shop = $2 AND bill_id = t.bill LIMIT 1) b ON true
    WHERE t.place + (SELECT count(*) FROM (SELECT FROM payment_acceptance.callback c WHERE c.intent_id = b.intent_id
      LIMIT ${MAX_PER_BILL}) kept) <= ${MAX_PER_BILL}
    RETURNING id)
  SELECT count(*)::int AS stored FROM stored`,
};

/** @type {Waiting[]} */
let waiting = [];
let running = false;

/** As many as have come while the batch before was under way go together. */
async function run() {
  while (waiting.length > 0) {
    const batch = waiting.slice(0, MAX_BATCH);
    waiting = waiting.slice(MAX_BATCH);
    try {
      const { rows } = await pool.query({ ...INSERT, values: [JSON.stringify(inOrder(batch)), SHOP.name] });
      const failed = rows[0].stored < batch.length && new Error('Of a bill that is not known, or has too many.');
      // The next batch goes first: the database works while answers are written.
      setImmediate(() => batch.forEach(({ resolve, reject }) => (failed ? reject(failed) : resolve())));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
  running = false;
}

/**
 * Sorted by bill, so that all write in one order; `nr` is the order in which they came, `place` that among those of a bill.
 * @param {Waiting[]} batch
 */
function inOrder(batch) {
  /** @type {Map<string, number>} */
  const places = new Map();
  const rows = batch.map(({ row }, nr) => {
    const place = (places.get(row.bill) ?? 0) + 1;
    places.set(row.bill, place);
    return { nr, place, ...row };
  });
  return rows.sort((a, b) => (a.bill < b.bill ? -1 : a.bill > b.bill ? 1 : a.nr - b.nr));
}

/** @param {Row} row */
function store(row) {
  return new Promise((resolve, reject) => {
    waiting.push({ row, resolve, reject });
    if (running) return;
    running = true;
    setImmediate(run);
  });
}

/**
 * A number is read as its text, and what is empty as absent, as the module does.
 * @param {unknown} value
 */
const asText = (value) => (value === undefined || value === null || value === '' ? undefined : String(value));

const app = Fastify();
app.post('/postback', async (request, reply) => {
  const body = /** @type {Body} */ (request.body);
  for (const [field, isRight] of REQUIRED) {
    const text = asText(body[field]);
    if (text === undefined || !isRight(text)) return reply.code(400).send({ message: `${field} is malformed.` });
  }
  const digest = digestOf(body);
  const fields = keptFields(body);
  if (!fields || waiting.length >= MAX_WAITING) return reply.code(503).send({ message: 'Send it again.' });
  const amount = asText(body.OutSum);
  await store({
    id: timeOrderedId(),
    bill: String(body.TrsId),
    order_id: String(body.InvId),
    status: String(body.Status),
    digest,
    amount: amount && CENTS.test(amount) ? amount : null,
    currency: asText(body.CurrencyIn) ?? null,
    custom: asText(body.custom) ?? null,
    fields,
  });
  return reply.header('x-content-type-options', 'nosniff').type('text/plain; charset=utf-8').send('OK');
});
ready({ url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/postback` });
