import { barChart, shown } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { canTell } from './lib/processor-time.mjs';
import { postbacksLost, processKilled, serviceDown } from './lib/queue-faults.mjs';
import { asked, MODULE, Numbers, paced, saturated, startWay, WAYS } from './lib/queues.mjs';
import { hasRedis, startRedis } from './lib/redis.mjs';
import { exactly, spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';

/** @import { Way } from './lib/queues.mjs' */
/** @import { Context, Result } from './lib/report.mjs' */
/** @import { Samples } from './lib/rounds.mjs' */
/** @typedef {Awaited<ReturnType<typeof asked>>} Asked */

export const title = 'Whole payments beside queues';
export const order = 32;

const NAMES = { express: 'Express', fastify: 'Fastify' };
const [OURS, PG_BOSS, BULLMQ] = [MODULE.name, 'pg-boss, transactional', 'BullMQ'];

/** @param {Context} context */
export async function run({ quick, long, database, load, log }) {
  const ways = WAYS.filter((way) => {
    const lack = lackFor(way);
    if (lack) log(`${way.name} is left out: ${lack}`);
    return !lack;
  });
  /** @type {('express' | 'fastify')[]} */
  const adapters = long ? ['fastify', 'express'] : ['fastify'];
  const [payments, perSecond, seconds, rounds] = quick ? [300, 50, 2, 1] : [3_000, 100, 10, long ? 5 : 3];
  const redis = ways.some((way) => way.hasRedis) ? await startRedis() : undefined;
  const service = await startContestant('paying-service.mjs', { strain: {} });
  const serviceUrl = service.about.url;
  const sending = { load, numbers: new Numbers() };
  /** @type {{ adapter: 'express' | 'fastify'; atOnce: Samples; evenly: Samples }[]} */
  const measured = [];
  for (const adapter of adapters) {
    const working = [];
    for (const way of ways) {
      working.push(await startWay(way, { adapter, databaseUrl: await database.create(), serviceUrl, redis }));
    }
    const atOnce = working.map((each) => ({
      name: each.way.name,
      measure: () => saturated(each, { ...sending, payments }),
    }));
    const evenly = working.map((each) => ({
      name: each.way.name,
      measure: () => paced(each, { ...sending, perSecond, seconds }),
    }));
    measured.push({
      adapter,
      atOnce: await interleave(atOnce, { rounds, log }),
      evenly: await interleave(evenly, { rounds, log }),
    });
    for (const { server } of working) await server.stop();
  }
  /** @type {Map<string, Asked>} */
  const counts = new Map();
  for (const way of ways) {
    const options = { ...sending, database, serviceUrl, redis, payments: quick ? 100 : 1_000, perSecond };
    const figures = await asked(way, options);
    counts.set(way.name, figures);
    log(`${way.name}: ${JSON.stringify(figures)}`);
  }
  const faulty = { database, service, redis, quick };
  const lost = await Promise.all(ways.map((way) => postbacksLost(way, faulty)));
  const killed = await Promise.all(ways.map((way) => processKilled(way, faulty)));
  const down = await serviceDown(ways, faulty);
  const faults = ways.map((way, index) => [
    way.name,
    way.lacks,
    ...[lost, killed, down].map((said) => said[index] ?? ''),
  ]);
  for (const row of faults) log(row.join(' | '));
  await service.stop();
  return report(measured, counts, faults, { payments, perSecond });
}

/**
 * Why a way cannot be measured here, if it cannot.
 * @param {Way} way
 */
function lackFor(way) {
  if (way.hasRedis && !hasRedis()) return 'this machine has no redis-server';
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (way.isOurs || way.file === 'paying-tutorial.mjs' || major > 22 || (major === 22 && minor >= 12)) return undefined;
  return 'it runs on Node 22.12 and later: npm run with-node -- 22 npm run bench -- queues';
}

/**
 * @param {{ adapter: 'express' | 'fastify'; atOnce: Samples; evenly: Samples }[]} measured
 * @param {Map<string, Asked>} counts
 * @param {string[][]} faults
 * @param {{ payments: number; perSecond: number }} how
 * @returns {Result}
 */
function report(measured, counts, faults, { payments, perSecond }) {
  const many = payments.toLocaleString('en-US');
  /** @type {(caption: string, samples: Samples, kind: keyof Asked | undefined, figures: Record<string, string>) => import('./lib/report.mjs').Table} */
  const table = (caption, samples, kind, figures) => ({
    caption,
    columns: ['', ...Object.keys(figures), ...(kind ? ['statements', 'round trips'] : [])],
    rows: samples.names.map((name) => [
      name,
      ...Object.values(figures).map((figure) => spread(samples.summary(name, figure))),
      ...(kind ? [counts.get(name)?.[kind].statements, counts.get(name)?.[kind].trips].map(shown) : []),
    ]),
  });
  /** @type {Record<string, string>} */
  const costs = canTell
    ? { 'processor µs': 'processor', application: 'application', database: 'database', Redis: 'redis' }
    : {};
  const written = { 'log, bytes': 'log', 'transactions that write': 'writes' };
  const fastify = measured.find(({ adapter }) => adapter === 'fastify');
  return {
    about:
      'The same postbacks, payments and orders, taken by what people would build instead: each queue as its documents recommend it, ' +
      'with a row for each callback and payment and a job that asks the service and updates the order. Done is when the order is paid ' +
      'and the queue has stored that its job is. Saturated: 64 connections send ' +
      `${many} postbacks. Evenly: ${perSecond} a second. Processor time is that of the application, the database and Redis.`,
    targets: fastify ? targetsOf(fastify, counts) : [],
    tables: [
      ...measured.flatMap(({ adapter, atOnce, evenly }) => {
        const on = NAMES[adapter];
        const rate = { 'payments per second': 'rate' };
        const times = { 'paid p50, ms': 'p50', p99: 'p99' };
        /** @type {(kind: keyof Asked) => keyof Asked | undefined} */
        const counted = (kind) => (adapter === 'fastify' ? kind : undefined);
        return [
          table(`Saturated, ${on}; for each payment.`, atOnce, counted('saturated'), { ...rate, ...costs, ...written }),
          table(`${perSecond} a second, ${on}; for each payment.`, evenly, counted('paced'), {
            ...times,
            ...costs,
            ...written,
          }),
        ];
      }),
      {
        caption:
          'What each does not promise, and three faults that show it, each with 20 payments: no postback arrives; the process is killed ' +
          'five times, each time when an order has just been committed; the service is down for a minute while postbacks arrive. ' +
          'Inside the request, what is handled is the event that tells of the order. Not done: after two minutes.',
        columns: ['', 'does not promise', 'postbacks lost', 'process killed', 'service down'],
        rows: faults,
      },
    ],
    charts: fastify && {
      queues: barChart({
        title,
        unit: 'payments per second, saturated',
        bars: fastify.atOnce.names.map((name) => ({
          label: name,
          ours: name === OURS,
          ...fastify.atOnce.summary(name, 'rate'),
        })),
      }),
    },
  };
}

/**
 * @param {{ atOnce: Samples; evenly: Samples }} measured
 * @param {Map<string, Asked>} counts
 */
function targetsOf({ atOnce, evenly }, counts) {
  /** @type {(samples: Samples, other: string, figure: string) => import('./lib/statistics.mjs').Figure} */
  const times = (samples, other, figure) => samples.ratio(OURS, other, figure);
  const trips = counts.get(OURS)?.paced.trips;
  return [
    ...(atOnce.names.includes(PG_BOSS)
      ? [target(`Payments per second, saturated, against ${PG_BOSS}`, times(atOnce, PG_BOSS, 'rate'), { atLeast: 1.5 })]
      : []),
    ...(atOnce.names.includes(BULLMQ)
      ? [
          target('Payments per second, saturated, against BullMQ', times(atOnce, BULLMQ, 'rate'), { atLeast: 1.1 }),
          ...(canTell
            ? [
                target('Processor time, saturated, against BullMQ', times(atOnce, BULLMQ, 'processor'), {
                  atMost: 0.9,
                }),
                target('Processor time, evenly, against BullMQ', times(evenly, BULLMQ, 'processor'), { atMost: 1 }),
              ]
            : []),
          target('Paid p50, evenly, against BullMQ', times(evenly, BULLMQ, 'p50'), { atMost: 1 }),
          target('Paid p99, evenly, against BullMQ', times(evenly, BULLMQ, 'p99'), { atMost: 1.07 }),
        ]
      : []),
    target('Transactions that write, of a payment, evenly', evenly.summary(OURS, 'writes'), { atMost: 4.2 }),
    ...(trips === undefined ? [] : [target('Round trips of a payment, evenly', exactly(trips), { atMost: 8 })]),
    target('Bytes of the log for a payment, saturated', atOnce.summary(OURS, 'log'), { atMost: 4_000 }),
  ];
}
