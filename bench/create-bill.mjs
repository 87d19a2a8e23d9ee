import { barChart } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave, ratio } from './lib/rounds.mjs';
import { summary } from './lib/statistics.mjs';

export const title = 'Creating bills';
export const order = 20;

const ABREAST = 4;
/** A service that is close and quick; over the Internet none is quicker. */
const SERVICE_MS = 50;
const ours = (takesMs) => `createBill, a service that takes ${takesMs} ms`;
const bare = (takesMs) => `axios and one insert, a service that takes ${takesMs} ms`;

export async function run({ quick, database, log }) {
  const seconds = quick ? 1 : 3;
  const servers = [];
  const contestants = [];
  for (const takesMs of [0, SERVICE_MS]) {
    const service = await startContestant('creating-service.mjs', { takesMs });
    servers.push(service);
    for (const [name, file] of [
      [ours(takesMs), 'creating-module.mjs'],
      [bare(takesMs), 'creating-bare.mjs'],
    ]) {
      const databaseUrl = await database.create();
      const server = await startContestant(file, { databaseUrl, serviceUrl: service.about.url });
      servers.push(server);
      contestants.push({ name, measure: () => measure(server, seconds) });
    }
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  for (const server of servers.reverse()) await server.stop();
  const names = [...samples.keys()];
  const figure = (name, of) => spread(summary(samples.get(name)[of]));
  return {
    about:
      `${ABREAST} callers, each one bill after the other. The module stores its intent before the request is sent, makes each ` +
      'on a connection of its own, and stores what came of it, so that no bill is ever lost or made twice; the other does one ' +
      'request and one insert. Times of a call in milliseconds; processor time of the process in microseconds for each bill.',
    targets: [
      target(
        `p50 of createBill against the bare call, where the service takes ${SERVICE_MS} ms`,
        ratio(samples, ours(SERVICE_MS), bare(SERVICE_MS), 'p50'),
        { atMost: 1.25 },
      ),
    ],
    tables: [
      {
        columns: ['', 'p50', 'p99', 'per second', 'CPU µs'],
        rows: names.map((name) => [name, ...['p50', 'p99', 'rate', 'cpu'].map((of) => figure(name, of))]),
      },
      {
        caption: 'createBill against the bare call:',
        columns: ['the service takes', 'p50', 'CPU'],
        rows: [0, SERVICE_MS].map((ms) => [
          `${ms} ms`,
          ...['p50', 'cpu'].map((of) => spread(ratio(samples, ours(ms), bare(ms), of))),
        ]),
      },
    ],
    charts: {
      'create-bill': barChart({
        title,
        unit: 'milliseconds, p50',
        bars: names.map((label) => ({
          label,
          ours: label.startsWith('createBill'),
          ...summary(samples.get(label).p50),
        })),
      }),
    },
  };
}

async function measure(server, seconds) {
  const before = await server.ask('usage');
  const { bills, ...figures } = await server.ask('create', { seconds, abreast: ABREAST });
  const after = await server.ask('usage');
  return { ...figures, cpu: ((after.cpuSeconds - before.cpuSeconds) / bills) * 1e6 };
}
