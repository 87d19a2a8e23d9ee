import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

/** @import { Context } from './lib/report.mjs' */

/**
 * @typedef {object} Service
 * @property {string} about
 * @property {object} options
 * @property {(quick: boolean, instances: number) => number} payments
 * @property {number} rounds
 * @property {object} [module] options of the module
 */

export const title = 'One to eight instances';
export const order = 40;

const [ONE, TWO] = ['one instance', 'two instances'];
const INSTANCES = { [ONE]: 1, [TWO]: 2, 'four instances': 4, 'eight instances': 8 };
/** All instances of a run, with a connection each beside the pool, must find room on one server. */
const POOL = 10;
const SLOW_MS = 500;

/*
 * What bounds an instance: how many requests it makes at once, or its processor.
 */

/** @type {Service} */
const SLOW = {
  about: `A service that takes ${SLOW_MS} ms`,
  options: { delayMs: SLOW_MS },
  payments: (quick, instances) => (quick ? 32 : 120) * instances,
  rounds: 3,
};
/** @type {Service} */
const INSTANT = {
  about: 'A service that answers at once',
  options: {},
  payments: (quick) => (quick ? 200 : 1_500),
  rounds: 3,
  module: { checks: { concurrency: 32 } },
};

/** @param {Context} context */
export async function run({ quick, database, load, log }) {
  const measure = async (/** @type {Service} */ service) => {
    log(service.about);
    return { about: service.about, samples: await measured(service, { quick, database, load, log }) };
  };
  const slow = await measure(SLOW);
  const instant = await measure(INSTANT);
  return {
    about:
      `Payments per second of instances on one database, all on one machine. Where the service takes ${SLOW_MS} ms, it bounds ` +
      'them how many requests an instance makes at once (`checks.concurrency` at most); where it answers at once, the ' +
      'processors, which the instances share with the database, the service and the load. All postbacks go to the first one.',
    targets: [
      target('Whole payments per second of two instances against one', slow.samples.ratio(TWO, ONE, 'rate'), {
        atLeast: 1.7,
      }),
    ],
    tables: [slow, instant].map(({ about, samples }) => ({
      caption: `${about}. Commits and processor time of the whole machine for each payment; how busy its processors were.`,
      columns: ['', '× one', 'payments per second', 'commits', 'machine µs', 'busy, %'],
      rows: samples.names.map((name) => [
        name,
        spread(samples.ratio(name, ONE, 'rate')),
        ...['rate', 'commits', 'machine', 'busy'].map((figure) => spread(samples.summary(name, figure))),
      ]),
    })),
  };
}

/**
 * @param {Service} service
 * @param {Omit<Context, 'long'>} context
 */
async function measured({ options, payments, rounds, module }, { quick, database, load, log }) {
  const service = await startContestant('paying-service.mjs', options);
  const servers = [service];
  const contestants = [];
  for (const [name, instances] of Object.entries(INSTANCES)) {
    if (quick && instances > 2) continue;
    const databaseUrl = await database.create();
    const host = { adapter: 'fastify', databaseUrl, serviceUrl: service.about.url, poolSize: POOL, module };
    const server = await startContestant('paying-module.mjs', host);
    servers.push(server);
    for (let others = instances - 1; others > 0; others--) {
      servers.push(await startContestant('paying-module.mjs', host));
    }
    const measure = wholePayments({ server, databaseUrl, load, payments: payments(quick, instances), ours: true });
    contestants.push({ name, measure });
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : rounds, log });
  for (const server of servers) await server.stop();
  return samples;
}
