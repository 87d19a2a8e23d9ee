import { setTimeout as sleep } from 'node:timers/promises';
import { request } from '../http.mjs';

/** @import { Seen } from '../account.mjs' */
/** @import { Supervised } from '../supervised.mjs' */

/** @typedef {{ startedAt: number; answeredAt: number | undefined }} Try */

const EVERY_MS = 400;
const TIMEOUT_MS = 4_000;
/** A shop part of whose connections are bad answers some and not others. */
const IN_A_ROW = 6;

/**
 * Gives a shop an order and a postback of it, again and again, until several in a row were both answered as they should
 * be: how many milliseconds after `since` the first of these was, or undefined where that was not `withinS`. What the shop
 * has answered goes to `seen`.
 * @param {Supervised} shop
 * @param {{ since: number; withinS: number; seen: Seen; name: string }} options
 */
export async function comesBack(shop, { since, withinS, seen, name }) {
  const end = since + withinS * 1000;
  /** @type {Try[]} */
  const tries = [];
  const running = [];
  // One that hangs must not hide that the next does not.
  while (!rowOf(tries) && (Date.now() < end || (tries.at(-IN_A_ROW)?.startedAt ?? end) < end)) {
    /** @type {Try} */
    const one = { startedAt: Date.now(), answeredAt: undefined };
    tries.push(one);
    running.push(
      ask(shop, `${name}/${tries.length}`, seen).then((taken) => {
        if (taken) one.answeredAt = Date.now();
      }),
    );
    await sleep(EVERY_MS);
  }
  await Promise.all(running); // what is answered late is answered too
  const answeredAt = rowOf(tries)?.answeredAt ?? Infinity;
  return answeredAt <= end ? answeredAt - since : undefined;
}

/**
 * The first of several in a row that were answered.
 * @param {Try[]} tries
 */
function rowOf(tries) {
  return tries.find(
    (_, index) =>
      index + IN_A_ROW <= tries.length &&
      tries.slice(index, index + IN_A_ROW).every(({ answeredAt }) => answeredAt !== undefined),
  );
}

/**
 * @param {Supervised} shop
 * @param {string} description
 * @param {Seen} seen
 */
async function ask(shop, description, seen) {
  const order = await placeOrder(shop, description, seen);
  return order !== undefined && sendPostback(shop, order, seen);
}

/**
 * @param {Supervised} shop
 * @param {string} description
 * @param {Seen} seen
 * @returns {Promise<{ id: string; billId: string } | undefined>}
 */
async function placeOrder(shop, description, seen) {
  const body = { shop: 'main', amount: '7.00', description };
  const answer = await request(`${shop.url}/api/orders`, { method: 'POST', body, timeoutMs: TIMEOUT_MS });
  if (answer?.status !== 201) return undefined;
  const { id, billId } = answer.body;
  seen.orders.push({ id, billId, shop: shop.url });
  return { id, billId };
}

/**
 * One that claims too much, of a bill that nobody pays: it is recorded, and settles nothing.
 * @param {Supervised} shop
 * @param {{ id: string; billId: string }} order
 * @param {Seen} seen
 */
async function sendPostback(shop, { id, billId }, seen) {
  const body = { Status: 'SUCCESS', InvId: id, CurrencyIn: 'RUB', Commission: '0.00', OutSum: '7.00', TrsId: billId };
  const answer = await request(`${shop.url}/postback/payment`, { method: 'POST', body, timeoutMs: TIMEOUT_MS });
  if (answer?.status !== 200) return false;
  seen.postbacks.push({ trsId: billId, status: 'SUCCESS', outSum: '7.00' });
  return true;
}
