import { shown } from './lib/chart.mjs';
import { bothDatabases } from './lib/database.mjs';
import { startContestant } from './lib/processes.mjs';
import { exactly, target } from './lib/report.mjs';
import { seedBacklog } from './lib/seed-backlog.mjs';
import { summary } from './lib/statistics.mjs';

/** @import { Context } from './lib/report.mjs' */

export const title = 'Health beside a backlog';
export const order = 57;

/** @param {Context} context */
export async function run({ quick, long, database, log }) {
  const rows = quick ? 20_000 : long ? 5_000_000 : 200_000;
  const rounds = quick ? 1 : 5;
  const tables = [];
  const targets = [];
  for (const { name, create } of bothDatabases({ database, log })) {
    const { databaseUrl, drop } = await create();
    const host = await startContestant('health.mjs', { databaseUrl });
    const alone = await times(host, rounds);
    await seedBacklog(databaseUrl, rows);
    const beside = await times(host, rounds);
    const { health } = await host.ask('read');
    await host.stop();
    await drop();
    log(
      `${name}: ${shown(alone.median)} ms with nothing, ${shown(beside.median)} ms beside ${rows.toLocaleString('en-US')} rows of each kind`,
    );
    tables.push([name, shown(alone.median), shown(beside.median), health.status, health.degraded.join(', ')]);
    targets.push(
      target(
        `one reading on ${name} beside ${rows.toLocaleString('en-US')} rows of each kind, ms`,
        exactly(beside.median),
        { atMost: 500 },
      ),
    );
  }
  return {
    about:
      'What one reading of health takes, with empty tables and beside as many rows of each kind that waits (`lib/seed-backlog.mjs`). `--long` makes five million of each.',
    targets,
    tables: [{ columns: ['database', 'empty, ms', 'full, ms', 'status', 'degraded'], rows: tables }],
  };
}

/**
 * @param {import('./lib/processes.mjs').Contestant} host
 * @param {number} rounds
 */
async function times(host, rounds) {
  const times = [];
  for (let round = 0; round < rounds; round++) times.push((await host.ask('read')).ms);
  return summary(times);
}
