import { startContestant } from './lib/processes.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave, ratio } from './lib/rounds.mjs';
import { summary } from './lib/statistics.mjs';
import { wholePayments } from './lib/whole-payments.mjs';

export const title = 'Two instances';
export const order = 40;

const ONE = 'one instance';
const TWO = 'two instances';
const DELAY_MS = 500;

export async function run({ quick, database, load, log }) {
  const payments = quick ? 96 : 240;
  const service = await startContestant('paying-service.mjs', { delayMs: DELAY_MS });
  const servers = [service];
  const contestants = [];
  for (const [name, instances] of [
    [ONE, 1],
    [TWO, 2],
  ]) {
    const databaseUrl = await database.create();
    const started = [];
    for (let count = 0; count < instances; count++) {
      started.push(
        await startContestant('paying-module.mjs', { adapter: 'fastify', databaseUrl, serviceUrl: service.about.url }),
      );
    }
    servers.push(...started);
    const measure = () => wholePayments({ server: started[0], databaseUrl, load, payments, ours: true });
    contestants.push({ name, measure });
  }
  const samples = await interleave(contestants, { rounds: quick ? 1 : 5, log });
  for (const server of servers) await server.stop();
  return {
    about:
      `The service takes ${DELAY_MS} ms to answer, so that neither the database nor the processor is the bound, but how many ` +
      'requests an instance makes at once (`confirmer.concurrency`, 8 by default). All postbacks go to the first instance.',
    targets: [
      target('Whole payments per second of two instances against one', ratio(samples, TWO, ONE, 'rate'), {
        atLeast: 1.7,
      }),
    ],
    tables: [
      {
        columns: ['', 'payments per second', 'commits for each'],
        rows: [ONE, TWO].map((name) => [
          name,
          spread(summary(samples.get(name).rate)),
          spread(summary(samples.get(name).commits)),
        ]),
      },
    ],
  };
}
