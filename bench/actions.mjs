import { shown } from './lib/chart.mjs';
import { bothDatabases } from './lib/database.mjs';
import { startContestant } from './lib/processes.mjs';
import { exactly, target } from './lib/report.mjs';
import { seedPast } from './lib/seed-backlog.mjs';
import { quantile } from './lib/statistics.mjs';

/** @import { Context } from './lib/report.mjs' */

export const title = "An operator's action on many deliveries";
export const order = 56;

const STATISTICS = /** @type {const} */ (['fresh', 'absent', 'stale']);
const ACTIONS = /** @type {const} */ (['replay', 'deliver']);

/** @param {Context} context */
export async function run({ quick, database, log }) {
  const rows = quick ? 3_000 : 100_000;
  const payments = quick ? { perSecond: 20, seconds: 2 } : { perSecond: 40, seconds: 24 };
  const some = { ...payments, seconds: payments.seconds / 4 };
  const many = rows.toLocaleString('en-US');
  const service = await startContestant('paying-service.mjs');
  const table = [];
  const targets = [];
  for (const { name, create } of bothDatabases({ database, log })) {
    for (const statistics of quick ? STATISTICS.slice(2) : STATISTICS) {
      const { databaseUrl, drop } = await create();
      const host = await startContestant('acting.mjs', { databaseUrl, serviceUrl: service.about.url });
      await seedPast(databaseUrl, rows, statistics);
      // The first payments find the code cold.
      await host.ask('pay', { ...payments, seconds: 2 });
      for (const action of ACTIONS) {
        const before = await host.ask('pay', payments);
        let isOver = false;
        const acting = host.ask('act', action).finally(() => (isOver = true));
        acting.catch(() => undefined); // it is awaited below
        /** @type {number[]} */
        const meanwhile = [];
        do meanwhile.push(...(await host.ask('pay', some)));
        while (!isOver);
        const { count, seconds } = await acting;
        const after = await host.ask('pay', payments);
        const [alone, beside] = [quantilesOf([...before, ...after]), quantilesOf(meanwhile)];
        if (count !== rows) throw new Error(`${name}: ${action} did ${count} of ${rows}.`);
        log(
          `${name}, statistics ${statistics}: ${action} of ${many} in ${shown(seconds)} s; time to paid p99 ` +
            `${shown(beside.p99)} ms beside it, ${shown(alone.p99)} ms alone`,
        );
        table.push([
          name,
          statistics,
          action,
          shown(seconds),
          ...[alone, beside].flatMap(({ p50, p99 }) => [shown(p50), shown(p99)]),
        ]);
        const what = `Time to paid beside ${action} of ${many} on ${name}, statistics ${statistics}: p99, times that alone`;
        targets.push(target(what, exactly(beside.p99 / alone.p99), { atMost: 1.5 }));
      }
      await host.stop();
      await drop();
    }
  }
  await service.stop();
  return {
    about:
      `\`replay\` of ${many} dead letters, and \`deliverPastEvents\` of as many events, ten of each bill, by the instance that takes ` +
      `${payments.perSecond} payments a second meanwhile. Their consumers are at another instance, so that what is measured is the action. ` +
      "The planner's statistics are fresh, absent, or stale, as of the time when nothing was pending. Time to paid: from the moment at " +
      'which the postback was to be sent to the end of the handler. Alone: before and after. Beside: through the whole action.',
    targets,
    tables: [
      {
        columns: ['database', 'statistics', 'action', 'takes, s', 'alone: p50, ms', 'p99', 'beside: p50, ms', 'p99'],
        rows: table,
      },
    ],
  };
}

/** @param {number[]} times */
function quantilesOf(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}
