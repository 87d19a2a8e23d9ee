import { setTimeout as sleep } from 'node:timers/promises';
import { connected } from './database.mjs';
import { seedBills, seedShopOrders } from './seeds.mjs';
import { quantile } from './statistics.mjs';

/** @import { Ask } from './database.mjs' */
/** @import { Contestant } from './processes.mjs' */

/** @typedef {{ after: number; seconds: number }} Death of the service: when it dies, and for how long */
/** @typedef {{ sent: number; paid: number }} Payment */
/** @typedef {import('./strain.mjs').Asked & { began: number }} Log of a service: when requests came, from then on */

/** How long a payment may be under way before it counts as waiting: the service alone takes two seconds at times. */
const UNDER_WAY_MS = 3_000;
const PARTS = 6;

/**
 * Postbacks that arrive at a fixed rate, and when each one's order was paid.
 *
 * Time to paid is counted from the moment that the postback has in the schedule of arrivals, be it sent later, to the moment
 * at which the transaction with the order's update was committed, as the database itself has noted it
 * (`track_commit_timestamp`): nothing in a handler has to be trusted with it, and nothing is added to one.
 *
 * @typedef {object} Timed
 * @property {Contestant} server
 * @property {Contestant} service
 * @property {string} databaseUrl
 * @property {import('./report.mjs').Load} load
 * @property {boolean} ours whether the module is measured
 * @property {number} perSecond
 * @property {number} seconds
 * @property {Death} [dead]
 * @property {number} drain for how many seconds at most payments are waited for when all have come
 * @param {Timed} options
 */
export async function timedPayments(options) {
  const { server, service, databaseUrl, load, ours, perSecond, seconds, dead, drain } = options;
  const count = Math.round(perSecond * seconds);
  // The schedule's own checks come later than the run ends: what is measured follows from the postbacks.
  if (ours) await seedBills(databaseUrl, count, 0, { firstCheck: '1 day' });
  await seedShopOrders(databaseUrl, count);
  await service.ask('log');
  const requests = { module: 'lib/postback-bodies.mjs', options: { bills: count } };
  const arriving = load.arrive({ url: server.about.url, requests, perSecond, seconds });
  const [answers, returnedAt] = await Promise.all([arriving, dead && dieAndReturn(service, dead)]);
  if (ours && answers.failed > 0) {
    throw new Error(`${server.name}: ${answers.failed} answers failed: ${JSON.stringify(answers.status)}`);
  }
  const paidAt = await connected(databaseUrl, (ask) => paidOrders(ask, count, ours ? drain * 1000 : 0));
  const payments = Array.from({ length: count }, (_, number) => ({
    sent: answers.beganAt + number * answers.everyMs,
    paid: paidAt.get(number) ?? Infinity,
  }));
  const { beganAt } = answers;
  /** @type {Log} */
  const asked = await service.ask('log');
  return { payments, returnedAt, beganAt, endedAt: beganAt + seconds * 1000, asked };
}

/**
 * @param {Contestant} service
 * @param {Death} death
 */
async function dieAndReturn(service, { after, seconds }) {
  await sleep(after * 1000);
  await service.ask('die');
  await sleep(seconds * 1000);
  await service.ask('revive');
  return Date.now();
}

/**
 * When each order was paid, by its number, once all are or the time is over.
 * @param {Ask} ask
 * @param {number} count
 * @param {number} drainMs
 * @returns {Promise<Map<number, number>>}
 */
async function paidOrders(ask, count, drainMs) {
  for (const until = Date.now() + drainMs; ; await sleep(500)) {
    const [row] = await ask(`SELECT count(*)::int AS paid FROM shop_order WHERE status = 'paid'`);
    if (row?.paid === count || Date.now() >= until) break;
  }
  const rows = await ask(
    `SELECT substr(id, length('order-') + 1)::int AS number, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS at
     FROM shop_order WHERE status = 'paid'`,
  );
  return new Map(rows.map(({ number, at }) => [number, at]));
}

/**
 * What is said of such a run; figures of which the parts of a run differ as `{ median, min, max }`: of the whole, and of
 * the least and the largest of six parts.
 * @param {Awaited<ReturnType<typeof timedPayments>>} run
 * @param {{ settledAfter?: number }} [options]
 */
export function figuresOf({ payments, returnedAt, beganAt, endedAt, asked }, { settledAfter = 0 } = {}) {
  /** @param {Payment[]} some */
  const times = (some) => some.flatMap(({ sent, paid }) => (paid < Infinity ? [(paid - sent) / 1000] : []));
  /** @param {number} at */
  const waitingAt = (at) => payments.filter(({ sent, paid }) => sent < at - UNDER_WAY_MS && paid > at).length;
  /** @type {(from: number, to: number) => number} */
  const paidBetween = (from, to) =>
    (payments.filter(({ paid }) => paid >= from && paid < to).length / (to - from)) * 1000;
  // When everybody is at work: the first third is the start.
  const settled = beganAt + (endedAt - beganAt) / 3;
  const step = (endedAt - settled) / PARTS;
  const rates = parts(PARTS, (part) => paidBetween(settled + part * step, settled + (part + 1) * step));
  /** @param {number} share */
  const quantiles = (share) => {
    /** @param {Payment[]} some */
    const of = (some) => quantile(Float64Array.from(times(some)).sort(), share);
    const size = payments.length / PARTS;
    return spreadOf(
      of(payments),
      parts(PARTS, (part) => of(payments.slice(part * size, (part + 1) * size))),
    );
  };
  /** @param {keyof import('./strain.mjs').Asked} kind */
  const since = (kind) => asked[kind].map((ms) => asked.began + ms);
  const [refused, all] = [since('refused'), [...since('taken'), ...since('refused'), ...since('lost')]];
  /** @param {number[]} moments */
  const late = (moments) => moments.filter((at) => at >= beganAt + settledAfter * 1000).length;
  return {
    p50: quantiles(0.5),
    p99: quantiles(0.99),
    rate: spreadOf(paidBetween(settled, endedAt), rates),
    backlog: waitingAt(endedAt),
    neverPaid: payments.filter(({ paid }) => paid === Infinity).length,
    mostAsked: mostInASecond(all),
    refused: (late(refused) / Math.max(1, late(all))) * 100,
    course: courseOf(all),
    caughtUp: returnedAt && secondsUntil(returnedAt, (at) => waitingAt(at) === 0),
  };
}

/**
 * @param {number} count
 * @param {(part: number) => number} of
 */
const parts = (count, of) => Array.from({ length: count }, (_, part) => of(part)).filter(Number.isFinite);
/**
 * @param {number} whole
 * @param {number[]} values
 */
const spreadOf = (whole, values) => ({ median: whole, min: Math.min(...values), max: Math.max(...values) });

/**
 * How many a second in each tenth of the time, to the last of them.
 * @param {number[]} moments
 */
function courseOf(moments) {
  const [from, to] = [Math.min(...moments), Math.max(...moments)];
  const step = (to - from) / 10;
  return Array.from({ length: 10 }, (_, tenth) => {
    /** @param {number} at */
    const isIn = (at) => Math.min(9, Math.floor((at - from) / step)) === tenth;
    return (moments.filter(isIn).length / step) * 1000;
  });
}

/**
 * @param {number} from
 * @param {(at: number) => boolean} isSo
 */
function secondsUntil(from, isSo) {
  for (let second = 1; second <= 600; second++) if (isSo(from + second * 1000)) return second;
  return Infinity;
}

/**
 * Of any second, wherever it begins.
 * @param {number[]} moments
 */
function mostInASecond(moments) {
  const sorted = moments.toSorted((a, b) => a - b);
  let [most, first] = [0, 0];
  for (const [index, at] of sorted.entries()) {
    while ((sorted[first] ?? at) <= at - 1000) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
