import fs from 'node:fs';
import { report } from '../chaos/report.mjs';
import { table } from '../chaos/tables.mjs';
import { problemsOf } from './phases.mjs';
import { refusedStatements } from './refused.mjs';

/** Prints the phases and the account; gives the command's exit code. */
export function reportUpgrade({ world, fleet, options, buyers, rows, first, last }) {
  console.log(`\n${phaseTable(rows)}`);
  const refused = refusedStatements(world.shops.map(({ name }) => ({ name, log: world.logs.of(name) })));
  const code = report({
    ...{ world, options, buyers, first, last },
    rows: [
      ['instances killed, kill -9', world.shops.map(({ name, kills }) => `${name} ${kills}`).join(', ')],
      ['instances stopped and started', fleet.restarts],
    ],
    others: [...refused, ...rows.flatMap(problemsOf)],
  });
  leaveCounts(rows, code);
  return code;
}

function phaseTable(rows) {
  const head = ['phase', 'seconds', 'orders by previous', 'by present', 'payments', 'events', 'migrations'];
  const lines = rows.map(({ name, seconds, orders: { previous, present }, payments, events, migrations }) => {
    return [name, seconds.toFixed(1), previous, present, payments, events, migrations];
  });
  return table([head, ...lines]);
}

/** Each phase is a check, and so is the account. */
function leaveCounts(rows, code) {
  if (!process.env.TEST_COUNTS) return;
  const failed = Math.max(rows.filter((row) => problemsOf(row).length > 0).length, code);
  const counts = { passed: rows.length + 1 - failed, failed, skipped: 0 };
  fs.writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
}
