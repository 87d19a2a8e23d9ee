import { LAYERS } from '../test/data-layers/layers.mjs';
import { startContestant } from './lib/processes.mjs';
import { canTell } from './lib/processor-time.mjs';
import { MODULE, Numbers, paced, saturated, startWay } from './lib/queues.mjs';
import { spread, target } from './lib/report.mjs';
import { interleave } from './lib/rounds.mjs';

/** @import { Context } from './lib/report.mjs' */

export const title = 'Whole payments with each data layer';
export const order = 33;

const TYPEORM = 'TypeORM';

/** @param {Context} context */
export async function run({ quick, database, load, log }) {
  const layers = LAYERS.filter(({ name, absent }) => {
    if (absent) log(`${name} is left out: ${absent}`);
    return !absent;
  });
  const ways = [{ ...MODULE, name: TYPEORM }, ...layers.map(({ name }) => ({ ...MODULE, name, layer: name }))];
  const [payments, perSecond, seconds, rounds] = quick ? [300, 50, 2, 1] : [3_000, 100, 10, 3];
  const service = await startContestant('paying-service.mjs');
  const host = { adapter: 'fastify', serviceUrl: service.about.url, redis: undefined };
  const working = [];
  for (const way of ways) working.push(await startWay(way, { ...host, databaseUrl: await database.create() }));
  const sending = { load, numbers: new Numbers() };
  const atOnce = await interleave(
    working.map((each) => ({ name: each.way.name, measure: () => saturated(each, { ...sending, payments }) })),
    { rounds, log },
  );
  const evenly = await interleave(
    working.map((each) => ({ name: each.way.name, measure: () => paced(each, { ...sending, perSecond, seconds }) })),
    { rounds, log },
  );
  for (const { server } of working) await server.stop();
  await service.stop();
  const processor = canTell ? ['processor'] : [];
  return {
    about:
      'The same payments, with a handler in a transaction of each data layer; pools of 20 connections. Saturated: 64 connections send ' +
      `${payments.toLocaleString('en-US')} postbacks. Evenly: ${perSecond} a second. Processor time is that of the application and the database.`,
    targets: layers.map(({ name }) =>
      target(`Payments per second, saturated, with ${name} against TypeORM`, atOnce.ratio(name, TYPEORM, 'rate'), {
        atLeast: 0.95,
      }),
    ),
    tables: [
      {
        columns: [
          '',
          'payments per second',
          ...processor.map(() => 'processor µs, saturated'),
          'paid p50, ms, evenly',
          'p99',
          ...processor.map(() => 'processor µs, evenly'),
        ],
        rows: atOnce.names.map((name) => [
          name,
          ...['rate', ...processor].map((figure) => spread(atOnce.summary(name, figure))),
          ...['p50', 'p99', ...processor].map((figure) => spread(evenly.summary(name, figure))),
        ]),
      },
    ],
  };
}
