import { setTimeout as sleep } from 'node:timers/promises';
import os from 'node:os';
import { query } from './database.mjs';
import { workedMs } from './machine.mjs';
import { seedBills, seedShopOrders } from './seeds.mjs';

const EMPTY = `TRUNCATE payment_acceptance.delivery, payment_acceptance.event, payment_acceptance.payment,
  payment_acceptance.callback, payment_acceptance.bill, payment_acceptance.review, payment_acceptance.shop_order`;

/**
 * Payments per second, from the first postback to the last order's committed update, and what they took: microseconds of
 * the measured process (`cpu`) and of the whole machine for each payment, and how many percent of its processors worked.
 *
 * @param ours whether the module is measured, whose tables are emptied first, unless `from` says which bills are the next
 */
export async function wholePayments({ server, databaseUrl, load, payments, ours, from = 0, connections = 64 }) {
  if (ours) {
    if (from === 0) await query(databaseUrl, EMPTY);
    await seedBills(databaseUrl, payments, from);
  }
  await seedShopOrders(databaseUrl, payments, from);
  const commits = await committed(databaseUrl);
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
  let looks = 0;
  for (; ; looks++) {
    const [{ paid }] = await query(databaseUrl, `SELECT count(*)::int AS paid FROM shop_order WHERE status = 'paid'`);
    if (paid === payments) break;
    if (performance.now() - began > 120_000) throw new Error(`${server.name}: only ${paid} orders are paid.`);
    await sleep(50);
  }
  const seconds = (performance.now() - began) / 1000;
  const worked = workedMs() - workedBefore;
  const after = await server.ask('usage');
  return {
    rate: payments / seconds,
    answers: payments / ((taken - began) / 1000),
    p50,
    p99,
    commits: ((await committed(databaseUrl)) - commits - looks) / payments,
    cpu: ((after.cpuSeconds - before.cpuSeconds) / payments) * 1e6,
    machine: (worked / payments) * 1e3,
    busy: worked / 10 / seconds / os.cpus().length,
  };
}

async function committed(url) {
  await sleep(1_100); // Backends report what they have done once a second.
  const [row] = await query(
    url,
    `SELECT xact_commit::int AS commits FROM pg_stat_database WHERE datname = current_database()`,
  );
  return row.commits;
}
