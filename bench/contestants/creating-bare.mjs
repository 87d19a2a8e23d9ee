// What a service of one's own does at least: one axios call, and one insert of what came back.
import axios from 'axios';
import pg from 'pg';
import { create } from '../lib/creating.mjs';
import { options, ready } from '../lib/contestant.mjs';
import { AMOUNT, SHOP } from '../lib/postback-bodies.mjs';

const pool = new pg.Pool({ connectionString: options.databaseUrl });
await pool.query(
  'CREATE TABLE bill (order_id text PRIMARY KEY, bill_id text NOT NULL, amount numeric(10,2), link text)',
);

/** @param {string} orderId */
async function createBill(orderId) {
  const fields = { amount: AMOUNT, order_id: orderId, shop_id: SHOP.shopId, name: 'Bench' };
  const headers = { Authorization: `Bearer ${SHOP.token}` };
  const { data } = await axios.postForm(`${options.serviceUrl}/api/v1/bill/create`, fields, { headers });
  await pool.query('INSERT INTO bill VALUES ($1, $2, $3, $4)', [orderId, data.bill_id, AMOUNT, data.link_page_url]);
}
ready({}, { create: create(createBill) });
