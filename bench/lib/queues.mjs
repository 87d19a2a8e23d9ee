import { setTimeout as sleep } from 'node:timers/promises';
import { connected, query } from './database.mjs';
import { startContestant } from './processes.mjs';
import { databaseSeconds, secondsBetween, secondsOf } from './processor-time.mjs';
import { seedBills, seedShopOrders } from './seeds.mjs';
import { quantile } from './statistics.mjs';

/** @import { Ask } from './database.mjs' */
/** @import { Contestant } from './processes.mjs' */
/** @import { Redis } from './redis.mjs' */
/** @import { Database, Load } from './report.mjs' */

/**
 * A way to take payments. `unfinished`: SQL for the work that is left once the orders are paid; a queue in Redis tells it itself.
 *
 * @typedef {object} Way
 * @property {string} name
 * @property {string} file
 * @property {string} [unfinished]
 * @property {true} [isOurs]
 * @property {true} [hasRedis]
 * @property {string} lacks what it does not promise
 * @property {string} [layer] the data layer of the module's handler; default TypeORM
 */

/** @type {Way} */
export const MODULE = {
  name: 'the module',
  file: 'paying-module.mjs',
  isOurs: true,
  unfinished: `SELECT (SELECT count(*) FROM payment_acceptance.delivery WHERE state <> 'DONE')::int +
    (SELECT count(*) FROM payment_acceptance.callback WHERE pending)::int AS count`,
  lacks: '',
};

/** @type {readonly Way[]} */
export const WAYS = [
  MODULE,
  {
    name: 'inside the request',
    file: 'paying-tutorial.mjs',
    lacks: 'that a payment whose postback is lost or refused is ever found; that its event reaches a listener',
  },
  {
    name: 'pg-boss',
    file: 'paying-pg-boss.mjs',
    unfinished: `SELECT count(*)::int AS count FROM pgboss.job WHERE name = 'settle' AND state <> 'completed'`,
    lacks: 'that a payment whose postback is lost is ever found; that a handler runs once',
  },
  {
    name: 'pg-boss, transactional',
    file: 'paying-pg-boss-tx.mjs',
    unfinished: `SELECT count(*)::int AS count FROM pgboss.job WHERE name = 'settle' AND state <> 'completed'`,
    lacks: 'that a payment whose postback is lost is ever found; a transaction is open while the service is asked',
  },
  {
    name: 'graphile-worker',
    file: 'paying-graphile.mjs',
    unfinished: `SELECT count(*)::int AS count FROM graphile_worker._private_jobs`,
    lacks: 'that a payment whose postback is lost is ever found; that a handler runs once',
  },
  {
    name: 'BullMQ',
    file: 'paying-bullmq.mjs',
    hasRedis: true,
    lacks: 'the same, and that a callback that is stored has a job: it is added to another system',
  },
];

/**
 * One of them at work.
 * @typedef {{ way: Way; server: Contestant; databaseUrl: string; redis: Redis | undefined }} Working
 */

/**
 * Waits until all orders are paid and nothing is left to do.
 * @param {Working} working
 * @param {number} payments
 */
function untilDone(working, payments) {
  return connected(working.databaseUrl, async (ask) => {
    for (const until = performance.now() + 120_000; ; await sleep(25)) {
      const [row] = await ask(`SELECT count(*)::int AS paid FROM shop_order WHERE status = 'paid'`);
      if (row?.paid === payments && (await leftOf(working, ask)) === 0) return;
      if (performance.now() > until) throw new Error(`${working.way.name}: ${row?.paid} of ${payments} are paid.`);
    }
  });
}

/**
 * How much is left to do.
 * @param {Working} working
 * @param {Ask} [ask]
 * @returns {Promise<number>}
 */
export async function leftOf({ way, server, databaseUrl }, ask = (statement) => query(databaseUrl, statement)) {
  if (way.hasRedis) return server.ask('unfinished');
  return way.unfinished === undefined ? 0 : (await ask(way.unfinished))[0]?.count;
}

/**
 * Takes payments: `send` sends the postbacks of so many new bills. `around` surrounds that, until all are done.
 * @template {object} Sent
 * @template T
 * @param {Working} working
 * @param {{ from: number; count: number }} which
 * @param {() => Promise<Sent & { failed: number }>} send
 * @param {(work: () => Promise<Sent>) => Promise<T>} around
 */
async function taking(working, { from, count }, send, around) {
  const { way, server, databaseUrl } = working;
  if (way.isOurs) await seedBills(databaseUrl, count, from, { firstCheck: '1 day' });
  await seedShopOrders(databaseUrl, count, from);
  return around(async () => {
    const sent = await send();
    if (sent.failed > 0) throw new Error(`${server.name}: ${JSON.stringify(sent)}`);
    await untilDone(working, count);
    return sent;
  });
}

/**
 * Figures for each payment: microseconds of the application's process, of the database's and of Redis, and their sum; bytes of
 * the database's log and of Redis's; transactions that wrote.
 * @template Sent
 * @param {Working} working
 * @param {number} count
 * @param {() => Promise<Sent>} work
 */
async function measured(working, count, work) {
  const before = await used(working);
  const began = performance.now();
  const sent = await work();
  const seconds = (performance.now() - began) / 1000;
  const after = await used(working);
  /** @param {number} taken */
  const us = (taken) => (taken / count) * 1e6;
  const application = us(after.application - before.application);
  const database = us(secondsBetween(after.database, before.database));
  const redis = us(after.redis - before.redis);
  const [log, writes] = [(after.log - before.log) / count, (after.writes - before.writes) / count];
  const processor = application + database + redis;
  return { sent, figures: { rate: count / seconds, processor, application, database, redis, log, writes } };
}

/** @param {Working} working */
async function used({ server, databaseUrl, redis }) {
  const [row] = await query(
    databaseUrl,
    `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS log, pg_snapshot_xmax(pg_current_snapshot())::text::int AS writes`,
  );
  return {
    log: row.log + (redis?.logBytes() ?? 0),
    writes: row.writes,
    application: (await server.ask('usage')).cpuSeconds,
    database: await databaseSeconds(databaseUrl),
    redis: redis ? secondsOf(redis.pid) : 0,
  };
}

/** Numbers of bills: no two rounds share any. */
export class Numbers {
  #next = 0;

  /** @param {number} count */
  take(count) {
    const from = this.#next;
    this.#next += count;
    return { from, count };
  }
}

/** @typedef {{ load: Load; numbers: Numbers }} Sending */

/**
 * As many payments as it can: 64 connections send postbacks, each after the answer to the one before.
 * @param {Working} working
 * @param {Sending & { payments: number }} options
 */
export async function saturated(working, { load, numbers, payments }) {
  const which = numbers.take(payments);
  const fire = { url: working.server.about.url, connections: 64, count: payments, requests: postbacks(which) };
  const send = () => load.fire(fire);
  return (await taking(working, which, send, (work) => measured(working, payments, work))).figures;
}

/**
 * Payments that arrive evenly, and for two seconds before, so that connections are open; and how long it takes from the moment
 * of each postback to the commit of its order.
 * @param {Working} working
 * @param {Sending & { perSecond: number; seconds: number }} options
 */
export async function paced(working, { load, numbers, perSecond, seconds }) {
  /** @param {number} forSeconds */
  const arriving = (forSeconds) => {
    const which = numbers.take(perSecond * forSeconds);
    const arrivals = { url: working.server.about.url, perSecond, seconds: forSeconds, requests: postbacks(which) };
    return { which, send: () => load.arrive(arrivals) };
  };
  const before = arriving(2);
  await taking(working, before.which, before.send, (work) => work());
  const { which, send } = arriving(seconds);
  const { sent, figures } = await taking(working, which, send, (work) => measured(working, which.count, work));
  /** @type {{ number: number; at: number }[]} */
  const paid = await query(
    working.databaseUrl,
    `SELECT substr(id, length('order-') + 1)::int AS number, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS at
     FROM shop_order WHERE status = 'paid'`,
  );
  const times = paid.map(({ number, at }) => at - (sent.beganAt + (number - which.from) * sent.everyMs));
  const sorted = times.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), ...figures };
}

/**
 * What the database and Redis are asked for a payment: statements, if the server can tell, and round trips, which a proxy counts.
 * @param {Way} way
 * @param {Sending & { database: Database; serviceUrl: string; redis: Redis | undefined; payments: number; perSecond: number }} options
 */
export async function asked(way, { load, numbers, database, serviceUrl, redis, payments, perSecond }) {
  const databaseUrl = await database.create();
  const proxied = new URL(databaseUrl);
  const proxies = [await startContestant('counting-proxy.mjs', { targetPort: Number(proxied.port) })];
  proxied.port = proxies[0]?.about.port;
  if (way.hasRedis) proxies.push(await startContestant('counting-proxy.mjs', { targetPort: redis?.port }));
  const server = await startContestant(way.file, {
    ...{ adapter: 'fastify', poolSize: 20, serviceUrl, databaseUrl: proxied.href },
    ...(way.hasRedis && { redisPort: proxies[1]?.about.port, redisPrefix: 'asked' }),
  });
  const working = { way, server, databaseUrl, redis: undefined };
  const { url } = server.about;
  /** @param {(which: { from: number; count: number }) => Promise<{ failed: number }>} send */
  const count = async (send) => {
    // The first payments open connections and prepare statements.
    const first = numbers.take(payments);
    await taking(
      working,
      first,
      () => send(first),
      (work) => work(),
    );
    const which = numbers.take(payments);
    /** @type {import('./database.mjs').Statement[] | undefined} */
    const statements = await taking(
      working,
      which,
      () => send(which),
      async (work) => {
        for (const proxy of proxies) await proxy.ask('taken');
        return database.profile(databaseUrl, work);
      },
    );
    const trips = await Promise.all(proxies.map((proxy) => proxy.ask('taken')));
    const calls = statements?.reduce((all, statement) => all + statement.calls, 0) ?? NaN;
    return { statements: calls / payments, trips: trips.reduce((all, some) => all + some, 0) / payments };
  };
  const figures = {
    saturated: await count((which) => load.fire({ url, connections: 64, count: payments, requests: postbacks(which) })),
    paced: await count((which) =>
      load.arrive({ url, perSecond, seconds: payments / perSecond, requests: postbacks(which) }),
    ),
  };
  for (const process of [server, ...proxies]) await process.stop();
  return figures;
}

/** @param {{ from: number; count: number }} which */
const postbacks = ({ from, count }) => ({
  module: 'lib/postback-bodies.mjs',
  options: { bills: count, from },
});

/**
 * Starts a host.
 * @param {Way} way
 * @param {{ adapter: string; databaseUrl: string; serviceUrl: string; redis: Redis | undefined; notes?: boolean }} how
 * @returns {Promise<Working>}
 */
export async function startWay(way, { redis, ...options }) {
  const ofRedis = { redisPort: redis?.port, redisPrefix: new URL(options.databaseUrl).pathname.slice(1) };
  const { layer } = way;
  const server = await startContestant(way.file, { poolSize: 20, layer, ...options, ...(way.hasRedis && ofRedis) });
  return { way, server, databaseUrl: options.databaseUrl, redis: way.hasRedis ? redis : undefined };
}
