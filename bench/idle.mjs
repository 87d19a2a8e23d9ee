import { setTimeout as sleep } from 'node:timers/promises';
import { shown } from './lib/chart.mjs';
import { startContestant } from './lib/processes.mjs';
import { exactly, target } from './lib/report.mjs';
import { seedShops } from './lib/seeds.mjs';

/** @import { Context, Result } from './lib/report.mjs' */

export const title = 'With nothing to do';
export const order = 55;

/** @import { Statement } from './lib/database.mjs' */
/** @typedef {Awaited<ReturnType<typeof measure>>} Idle */

/** None: the host alone. */
const SHOPS = [0, 1, 10_000];
const BILLS = 2;

/** @param {Context} context */
export async function run({ quick, database, log }) {
  const [warmUp, seconds] = quick ? [4, 10] : [30, 60];
  const results = [];
  for (const shops of SHOPS) {
    const result = await measure(shops, { database, warmUp, seconds });
    results.push(result);
    log(
      `${named(shops)}: ${shown(result.statements)} statements a minute, ${shown(result.processor)} % of a processor`,
    );
  }
  return report(results, seconds);
}

/**
 * @param {number} shops
 * @param {{ database: Context['database']; warmUp: number; seconds: number }} how
 */
async function measure(shops, { database, warmUp, seconds }) {
  const databaseUrl = await database.create();
  const server = await startContestant('idle.mjs', { databaseUrl, shops });
  if (shops > 0) await seedShops(databaseUrl, shops, BILLS);
  await sleep(warmUp * 1000);
  let [took, cpuSeconds, rss] = [0, 0, 0];
  const statements = await database.profile(databaseUrl, async () => {
    const began = performance.now();
    const before = await server.ask('usage');
    await sleep(seconds * 1000);
    const after = await server.ask('usage');
    took = (performance.now() - began) / 1000;
    cpuSeconds = after.cpuSeconds - before.cpuSeconds;
    rss = after.rss;
  });
  await server.stop();
  const own = statements?.filter(({ statement }) => !statement.includes('pg_stat_statements'));
  /** @param {(statement: Statement) => number} of */
  const perMinute = (of) => own && (own.reduce((sum, each) => sum + of(each), 0) / took) * 60;
  return {
    shops,
    statements: perMinute(({ calls }) => calls),
    databaseMs: perMinute(({ planUs, runUs }) => (planUs + runUs) / 1000),
    processor: (cpuSeconds / took) * 100,
    rss: rss / 2 ** 20,
    often: own?.toSorted((a, b) => b.calls - a.calls).slice(0, 6),
  };
}

/** @param {number} shops */
const named = (shops) =>
  shops === 0 ? 'the host alone' : shops === 1 ? 'one shop' : `${shops.toLocaleString('en-US')} shops of a resolver`;

/**
 * @param {Idle[]} results
 * @param {number} seconds
 * @returns {Result}
 */
function report(results, seconds) {
  const [alone, ...withModule] = results;
  return {
    about:
      `One instance with the module's defaults, for ${seconds} seconds after it has come to rest. Each shop has ${BILLS} bills ` +
      'that wait for a payment and are not due. The host alone is the same application without the module, and measured processes ' +
      'look for the command that has started them ten times a second. Statements are those that reach the database, beginnings and ends of transactions included.',
    targets: withModule.flatMap(({ shops, statements, processor }) => [
      ...(statements === undefined
        ? []
        : [target(`Statements a minute, idle, ${named(shops)}`, exactly(statements), { atMost: 47 })]),
      target(
        `Percent of a processor, idle, ${named(shops)}, beyond the host alone`,
        exactly(Math.max(0, processor - (alone?.processor ?? 0))),
        { atMost: 0.2 },
      ),
    ]),
    tables: [
      {
        caption:
          'Of the process: percent of one processor, and what it keeps resident. Of the database: what its statements take, planning included.',
        columns: ['', 'statements a minute', 'processor, %', 'resident, MiB', 'database, ms a minute'],
        rows: results.map(({ shops, statements, processor, rss, databaseMs }) => [
          named(shops),
          ...[statements, processor, rss, databaseMs].map(shown),
        ]),
      },
      ...withModule.flatMap(({ shops, often }) =>
        often
          ? [
              {
                caption: `What is asked of the database, ${named(shops)}, in ${seconds} seconds.`,
                ...statementsOf(often),
              },
            ]
          : [],
      ),
    ],
  };
}

/** @param {Statement[]} often */
function statementsOf(often) {
  /** @param {string} statement */
  const text = (statement) => `\`${statement.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 90)}\``;
  return {
    columns: ['', 'calls', 'µs each'],
    rows: often.map(({ statement, calls, planUs, runUs }) => [text(statement), calls, shown((planUs + runUs) / calls)]),
  };
}
