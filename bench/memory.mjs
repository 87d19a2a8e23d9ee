import { barChart, shown } from './lib/chart.mjs';
import { query } from './lib/database.mjs';
import { startContestant } from './lib/processes.mjs';
import { exactly, target } from './lib/report.mjs';
import { seedBills } from './lib/seeds.mjs';

/** @import { Context } from './lib/report.mjs' */

export const title = 'Memory while postbacks come';
export const order = 60;

const BILLS = 20_000;
const MEBIBYTE = 1024 * 1024;

/**
 * The heap is looked at after a collection each time: what is then larger than before is kept by somebody.
 * @param {Context} context
 */
export async function run({ quick, long, database, load, log }) {
  const steps = 10;
  const count = long ? 100_000 : quick ? 2_000 : 20_000;
  const databaseUrl = await database.create();
  const options = { adapter: 'fastify', databaseUrl };
  const server = await startContestant('module.mjs', options, { nodeOptions: ['--expose-gc'] });
  await seedBills(databaseUrl, BILLS);
  const fire = async () => {
    const { failed, status } = await load.fire({
      url: server.about.url,
      requests: { module: 'lib/postback-bodies.mjs', options: { bills: BILLS } },
      connections: 64,
      count,
    });
    if (failed > 0) throw new Error(`${failed} answers failed: ${JSON.stringify(status)}`);
    await query(databaseUrl, 'TRUNCATE payment_acceptance.callback');
  };
  // Code is compiled, pools and buffers are as large as they get.
  await fire();
  const seen = [];
  for (let step = 0; step <= steps; step++) {
    if (step > 0) await fire();
    const { rss, heapUsed, external } = await server.ask('usage');
    const now = { postbacks: step * count, heap: (heapUsed + external) / MEBIBYTE, rss: rss / MEBIBYTE };
    seen.push(now);
    log(`after ${now.postbacks} postbacks: heap ${shown(now.heap)} MiB, resident ${shown(now.rss)} MiB`);
  }
  await server.stop();
  const [first, ...later] = seen.map(({ heap }) => heap);
  const growth = Math.max(...later.map((heap) => Math.abs(heap / (first ?? NaN) - 1))) * 100;
  const total = (steps * count).toLocaleString('en-US');
  return {
    about: `One process with the module on Nest + Fastify, ${total} postbacks on 64 connections, after as many as one step to warm up.`,
    targets: [target(`change of the heap over ${total} postbacks, in percent`, exactly(growth), { atMost: 10 })],
    tables: [
      {
        columns: ['postbacks', 'heap after a collection, MiB', 'resident, MiB'],
        rows: seen.map(({ postbacks, heap, rss }) => [postbacks.toLocaleString('en-US'), shown(heap), shown(rss)]),
      },
    ],
    charts: {
      memory: barChart({
        title,
        unit: 'heap after a collection, MiB',
        bars: seen.map(({ postbacks, heap }) => ({
          label: `after ${postbacks.toLocaleString('en-US')}`,
          ours: true,
          ...exactly(heap),
        })),
      }),
    },
  };
}
