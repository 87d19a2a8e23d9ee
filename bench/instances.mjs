import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave, ratio } from './lib/rounds.mjs';
import { summary } from './lib/statistics.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

export const title = 'One to eight instances';
export const order = 40;

const INSTANCES = { 'one instance': 1, 'two instances': 2, 'four instances': 4, 'eight instances': 8 };
const [ONE, TWO] = Object.keys(INSTANCES);
/** All instances of a run, with a connection each beside the pool, must find room on one server. */
const POOL = 10;
const SLOW_MS = 500;

/** What bounds an instance: how many requests it makes at once, or its processor. */
const SERVICES = [
  {
    about: `A service that takes ${SLOW_MS} ms`,
    options: { delayMs: SLOW_MS },
    payments: (quick, instances) => (quick ? 32 : 120) * instances,
    rounds: 3,
  },
  {
    about: 'A service that answers at once',
    options: {},
    payments: (quick) => (quick ? 200 : 1_500),
    rounds: 3,
    module: { confirmer: { concurrency: 32 } },
  },
];

export async function run({ quick, database, load, log }) {
  const results = [];
  for (const service of SERVICES) {
    log(service.about);
    results.push({ ...service, samples: await measured(service, { quick, database, load, log }) });
  }
  const [slow] = results;
  return {
    about:
      `Payments per second of instances on one database, all on one machine. Where the service takes ${SLOW_MS} ms, it bounds ` +
      'them how many requests an instance makes at once (`confirmer.concurrency` at most); where it answers at once, the ' +
      'processors, which the instances share with the database, the service and the load. All postbacks go to the first one.',
    targets: [
      target('Whole payments per second of two instances against one', ratio(slow.samples, TWO, ONE, 'rate'), {
        atLeast: 1.7,
      }),
    ],
    tables: results.map(({ about, samples }) => ({
      caption: `${about}. Commits and processor time of the whole machine for each payment; how busy its processors were.`,
      columns: ['', '× one', 'payments per second', 'commits', 'machine µs', 'busy, %'],
      rows: Array.from(samples.keys(), (name) => [
        name,
        spread(ratio(samples, name, ONE, 'rate')),
        ...['rate', 'commits', 'machine', 'busy'].map((figure) => spread(summary(samples.get(name)[figure]))),
      ]),
    })),
  };
}

async function measured({ options, payments, rounds, module }, { quick, database, load, log }) {
  const service = await startContestant('paying-service.mjs', options);
  const servers = [service];
  const contestants = [];
  for (const [name, instances] of Object.entries(INSTANCES)) {
    if (quick && instances > 2) continue;
    const databaseUrl = await database.create();
    const started = [];
    for (let count = 0; count < instances; count++) {
      const serviceUrl = service.about.url;
      const host = { adapter: 'fastify', databaseUrl, serviceUrl, poolSize: POOL, module };
      started.push(await startContestant('paying-module.mjs', host));
    }
    servers.push(...started);
    const [server] = started;
    const measure = wholePayments({ server, databaseUrl, load, payments: payments(quick, instances), ours: true });
    contestants.push({ name, measure });
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : rounds, log });
  for (const server of servers) await server.stop();
  return samples;
}
