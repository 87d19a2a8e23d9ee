import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave, ratio } from './lib/rounds.mjs';
import { seedHistory } from './lib/seeds.mjs';
import { summary } from './lib/statistics.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

export const title = 'With a long history';
export const order = 50;

const ROWS_OF_A_PAYMENT = 6;
const EMPTY = 'no history';

export async function run({ quick, long, database, load, log }) {
  const history = quick ? 5_000 : long ? 1_700_000 : 100_000;
  const payments = quick ? 300 : 2_000;
  const rows = (history * ROWS_OF_A_PAYMENT).toLocaleString('en-US');
  const FULL = `${rows} rows of history`;
  const service = await startContestant('paying-service.mjs');
  const servers = [service];
  const contestants = [];
  for (const name of [EMPTY, FULL]) {
    const databaseUrl = await database.create();
    const server = await startContestant('paying-module.mjs', {
      adapter: 'fastify',
      databaseUrl,
      serviceUrl: service.about.url,
      module: { confirmer: { concurrency: 32 }, deliveries: { concurrency: 12 } },
    });
    servers.push(server);
    if (name === FULL) {
      log(`writing ${rows} rows`);
      await seedHistory(databaseUrl, history);
    }
    contestants.push({ name, measure: wholePayments({ server, databaseUrl, load, payments, ours: true }) });
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  for (const server of servers) await server.stop();
  return {
    about: `The same payments with and without ${rows} rows of payments that ended long ago.${long ? '' : ' With `--long`: ten million.'}`,
    targets: [
      target('Postbacks answered per second', ratio(samples, FULL, EMPTY, 'answers'), { atLeast: 0.9 }),
      target('Whole payments per second', ratio(samples, FULL, EMPTY, 'rate'), { atLeast: 0.9 }),
    ],
    tables: [
      {
        columns: ['', 'payments per second', 'answers per second', 'p99 of answers, ms', 'CPU µs', 'log, KiB'],
        rows: [EMPTY, FULL].map((name) => [
          name,
          ...['rate', 'answers', 'p99', 'cpu', 'wal'].map((figure) => spread(summary(samples.get(name)[figure]))),
        ]),
      },
    ],
  };
}
