import { setTimeout as sleep } from 'node:timers/promises';
import os from 'node:os';
import { connected, query } from './database.mjs';
import { workedMs } from './machine.mjs';
import { seedBills, seedShopOrders } from './seeds.mjs';

/** @import { Ask } from './database.mjs' */
/** @import { Contestant } from './processes.mjs' */

/**
 * Payments per second, from the first postback to the last order's committed update, and what they took: microseconds of
 * the measured process (`cpu`) and of the whole machine for each payment, how many KiB the database wrote to its log (`wal`),
 * and how many percent of the machine's processors worked.
 *
 * Gives what measures them, of other bills each time: what was paid stays, and so do the plans of connections.
 *
 * @typedef {object} WholePayments
 * @property {Contestant} server
 * @property {string} databaseUrl
 * @property {import('./report.mjs').Load} load
 * @property {number} payments
 * @property {boolean} ours whether the module is measured
 * @param {WholePayments} options
 */
export function wholePayments(options) {
  let from = 0;
  return async () => {
    const figures = await measure({ ...options, from });
    from += options.payments;
    return figures;
  };
}

/** @param {WholePayments & { from: number; connections?: number }} options */
async function measure({ server, databaseUrl, load, payments, ours, from, connections = 64 }) {
  if (ours) await seedBills(databaseUrl, payments, from);
  await seedShopOrders(databaseUrl, payments, from);
  const commits = await committed(databaseUrl);
  const logged = await walBytes(databaseUrl);
  const before = await server.ask('usage');
  const workedBefore = workedMs();
  const began = performance.now();
  const { p50, p99, failed, status } = await load.fire({
    url: server.about.url,
    requests: { module: 'lib/postback-bodies.mjs', options: { bills: payments, from } },
    connections,
    count: payments,
  });
  if (failed > 0) throw new Error(`${server.name}: ${failed} answers failed: ${JSON.stringify(status)}`);
  const taken = performance.now();
  const looks = await connected(databaseUrl, (ask) => untilPaid({ ask, server, payments, ours }));
  const seconds = (performance.now() - began) / 1000;
  const worked = workedMs() - workedBefore;
  const after = await server.ask('usage');
  return {
    rate: payments / seconds,
    answers: payments / ((taken - began) / 1000),
    p50,
    p99,
    wal: ((await walBytes(databaseUrl)) - logged) / payments / 1024,
    commits: ((await committed(databaseUrl)) - commits - looks) / payments,
    cpu: ((after.cpuSeconds - before.cpuSeconds) / payments) * 1e6,
    machine: (worked / payments) * 1e3,
    busy: worked / 10 / seconds / os.cpus().length,
  };
}

/** A machine that stands still for a while must not look like a payment that does. */
const LONGEST_GAP_MS = 1_000;

/**
 * Waits for the last order; gives the number of looks that found one missing.
 * @param {Pick<WholePayments, 'server' | 'payments' | 'ours'> & { ask: Ask }} options
 * @returns {Promise<number>}
 */
async function untilPaid({ ask, server, payments, ours }) {
  let waited = 0;
  let before = performance.now();
  for (let looks = 0; ; looks++) {
    const [row] = await ask(`SELECT count(*)::int AS paid FROM shop_order WHERE status = 'paid'`);
    if (row?.paid === payments) return looks;
    if (waited > 120_000) {
      const evidence = ours ? JSON.stringify(await unpaid(ask), undefined, 2) : '';
      throw new Error(`${server.name}: only ${row?.paid} orders are paid. ${evidence}`);
    }
    await sleep(50);
    const now = performance.now();
    waited += Math.min(now - before, LONGEST_GAP_MS);
    before = now;
  }
}

/**
 * What the module has of an order that stays unpaid, and who is inside a transaction.
 * @param {Ask} ask
 */
async function unpaid(ask) {
  const bills = `SELECT b.intent_id FROM payment_acceptance.bill b JOIN shop_order o ON o.id = b.order_id WHERE o.status <> 'paid' LIMIT 1`;
  /** @type {Record<string, unknown[]>} */
  const rows = { bill: await ask(`SELECT *, now() FROM payment_acceptance.bill WHERE intent_id = (${bills})`) };
  for (const table of ['callback', 'payment', 'event', 'delivery', 'review']) {
    rows[table] = await ask(`SELECT * FROM payment_acceptance.${table} WHERE intent_id = (${bills})`);
  }
  const running = `SELECT pid, state, now() - xact_start AS since, query, wait_event FROM pg_stat_activity WHERE xact_start IS NOT NULL`;
  return { ...rows, running: await ask(running) };
}

/**
 * What the server has written to its log, other databases on it included.
 * @param {string} url
 * @returns {Promise<number>}
 */
async function walBytes(url) {
  const [row] = await query(url, `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`);
  return row?.bytes;
}

/**
 * @param {string} url
 * @returns {Promise<number>}
 */
async function committed(url) {
  await sleep(1_100); // Backends report what they have done once a second.
  const [row] = await query(
    url,
    `SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = current_database()`,
  );
  return row?.commits;
}
