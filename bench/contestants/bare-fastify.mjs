// Fastify and pg with group commit, and nothing else: no validation, no digest, no bill, no bound.
import Fastify from 'fastify';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { options, ready } from '../lib/contestant.mjs';

const pool = new pg.Pool({ connectionString: options.databaseUrl });
const INSERT = {
  name: 'insert',
  text: `INSERT INTO postback (id, bill_id, order_id, status, body)
         SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[])`,
};

/** @typedef {{ id: string; billId: string; status: string; orderId: string; body: string }} Row */

/** @type {(Row & { resolve(value?: unknown): void; reject(error: unknown): void })[]} */
let queue = [];
const COLUMNS = /** @type {const} */ (['id', 'billId', 'orderId', 'status', 'body']);
let running = false;

async function run() {
  running = true;
  while (queue.length > 0) {
    const batch = queue;
    queue = [];
    try {
      const values = COLUMNS.map((column) => batch.map((row) => row[column]));
      await pool.query({ ...INSERT, values });
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
  running = false;
}

const app = Fastify();
app.post('/postback', async (request, reply) => {
  const body = /** @type {Record<string, string>} */ (request.body);
  await new Promise((resolve, reject) => {
    const { TrsId: billId = '', InvId: orderId = '', Status: status = '' } = body;
    queue.push({ id: randomUUID(), billId, orderId, status, body: JSON.stringify(body), resolve, reject });
    if (!running) void run();
  });
  return reply.type('text/plain').send('OK');
});
ready({ url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/postback` });
