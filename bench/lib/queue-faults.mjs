import { once } from 'node:events';
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from './database.mjs';
import { bodies } from './postback-bodies.mjs';
import { leftOf, startWay } from './queues.mjs';
import { seedBills, seedShopOrders } from './seeds.mjs';

/** @import { Way, Working } from './queues.mjs' */
/** @typedef {{ database: import('./report.mjs').Database; service: import('./processes.mjs').Contestant; redis: import('./redis.mjs').Redis | undefined; quick: boolean }} Options */

const BILLS = 20;

/**
 * The service is paid, and none of its postbacks arrives: how many orders are paid after more than a minute, when the first check
 * of the module is due.
 * @param {Way} way
 * @param {Options} options
 */
export async function postbacksLost(way, options) {
  const working = await start(way, options);
  await seed(working, { firstCheck: options.quick ? '1 second' : '1 minute' });
  await paidWithin(working, options.quick ? 10 : 100);
  const paid = await paidOf(working);
  await working.server.stop();
  return `${paid} of ${BILLS} paid`;
}

/**
 * The service is down while postbacks arrive, each once: how many orders are paid in the two minutes after it has come back. The
 * service is told of it once for all that are tried together.
 * @param {readonly Way[]} ways
 * @param {Options} options
 */
export async function serviceDown(ways, options) {
  const { service, quick } = options;
  const all = [];
  for (const way of ways) all.push(await start(way, options));
  await service.ask('die');
  const ended = sleep(quick ? 5_000 : 60_000);
  await Promise.all(
    all.map(async (working) => {
      await seed(working, { firstCheck: '1 day' });
      await Promise.all(bodies({ bills: BILLS }).map((body) => post(working, body)));
    }),
  );
  await ended;
  await service.ask('revive');
  const said = all.map(async (working) => {
    const seconds = await paidWithin(working, quick ? 30 : 120);
    const paid = await paidOf(working);
    await working.server.stop();
    return `${paid} of ${BILLS} paid${paid === 0 ? '' : `, the last after ${seconds.toFixed(0)} s`}`;
  });
  return Promise.all(said);
}

/** Counts how often each order was handled, and tells of each commit. What is handled is the order itself, or its event. */
const NOTES = `
  CREATE TABLE handled (id text);
  CREATE FUNCTION note_paid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_ARGV[0] = 'order' THEN INSERT INTO handled VALUES (NEW.id); END IF;
    PERFORM pg_notify('paid', NEW.id); RETURN NULL; END $$;`;

/**
 * The process is killed as soon as it has committed an order, and started again, several times; the service repeats postbacks that
 * were not answered. How many of the orders were handled twice or never, and how many are not done within two minutes.
 * @param {Way} way
 * @param {Options} options
 */
export async function processKilled(way, options) {
  const isListener = way.file === 'paying-tutorial.mjs';
  let working = await start(way, options, isListener);
  const { databaseUrl } = working;
  await query(databaseUrl, NOTES);
  await query(
    databaseUrl,
    `CREATE TRIGGER note_paid AFTER UPDATE ON shop_order FOR EACH ROW WHEN (NEW.status = 'paid')
     EXECUTE FUNCTION note_paid('${isListener ? 'event' : 'order'}')`,
  );
  await seed(working, { firstCheck: '1 day' });
  const commits = new pg.Client({ connectionString: databaseUrl });
  await commits.connect();
  await commits.query('LISTEN paid');
  let unanswered = bodies({ bills: BILLS });
  for (let kill = 0; kill < (options.quick ? 1 : 5); kill++) {
    const committed = Promise.race([once(commits, 'notification'), sleep(5_000)]);
    const some = unanswered.splice(0, BILLS / 5);
    const sending = some.map(async (body) => ((await post(working, body)) ? [] : [body]));
    await committed;
    if (working.server.pid) process.kill(working.server.pid, 'SIGKILL');
    unanswered.push(...(await Promise.all(sending)).flat());
    working = await startWay(way, { ...startingOf(options, isListener), databaseUrl });
  }
  await commits.end();
  while (unanswered.length > 0) {
    const left = await Promise.all(unanswered.map(async (body) => ((await post(working, body)) ? [] : [body])));
    unanswered = left.flat();
  }
  await paidWithin(working, options.quick ? 30 : 120);
  const left = await leftOf(working);
  const [row] = await query(
    databaseUrl,
    `SELECT count(*) FILTER (WHERE times > 1)::int AS twice, count(*) FILTER (WHERE times = 0)::int AS never
     FROM (SELECT o.id, count(h.id) AS times FROM shop_order o LEFT JOIN handled h ON h.id = o.id GROUP BY o.id) orders`,
  );
  await working.server.stop();
  return `${row.twice} handled twice, ${row.never} never; ${left} not done`;
}

/**
 * @param {Options} options
 * @param {boolean} [notes]
 */
const startingOf = ({ service, redis }, notes = false) => ({
  ...{ adapter: 'fastify', serviceUrl: service.about.url, redis, notes },
  quiet: true,
});

/**
 * @param {Way} way
 * @param {Options} options
 * @param {boolean} [notes]
 */
const start = async (way, options, notes) =>
  startWay(way, { ...startingOf(options, notes), databaseUrl: await options.database.create() });

/**
 * @param {Working} working
 * @param {{ firstCheck: string }} options
 */
async function seed({ way, databaseUrl }, options) {
  if (way.isOurs) await seedBills(databaseUrl, BILLS, 0, options);
  await seedShopOrders(databaseUrl, BILLS);
}

/** @param {Working} working */
async function paidOf({ databaseUrl }) {
  const [row] = await query(databaseUrl, `SELECT count(*)::int AS paid FROM shop_order WHERE status = 'paid'`);
  return row.paid;
}

/**
 * Waits until all are paid and done; gives how long that took, or the limit.
 * @param {Working} working
 * @param {number} seconds
 */
async function paidWithin(working, seconds) {
  for (let second = 0; second < seconds; second++) {
    if ((await paidOf(working)) === BILLS && (await leftOf(working)) === 0) return second;
    await sleep(1_000);
  }
  return seconds;
}

/**
 * Whether the postback was accepted.
 * @param {Working} working
 * @param {string} body
 */
async function post({ server }, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = fetch(server.about.url, { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) });
  return answer.then(
    async (response) => (await response.text(), response.ok),
    () => false,
  );
}
