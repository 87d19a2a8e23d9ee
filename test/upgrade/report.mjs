import { report } from '../chaos/report.mjs';
import { table } from '../chaos/tables.mjs';
import { leaveCounts } from '../../scripts/lib/counts.mjs';
import { problemsOf } from './phases.mjs';
import { refusedStatements } from './refused.mjs';

/** @import { Buyers } from '../chaos/buyers.mjs' */
/** @import { Account } from '../chaos/settle.mjs' */
/** @import { World } from '../chaos/world.mjs' */
/** @import { Fleet } from './fleet.mjs' */
/** @import { PhaseRow } from './phases.mjs' */

/**
 * Prints the phases and the account; gives the command's exit code.
 * @param {{ world: World; fleet: Fleet; options: { seed: number; dropAll: boolean }; buyers: Buyers; rows: PhaseRow[]; first: Account; last: Account }} about
 */
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
  // Each phase is a check, and so is the account.
  const failed = Math.max(rows.filter((row) => problemsOf(row).length > 0).length, code);
  leaveCounts({ passed: rows.length + 1 - failed, failed, skipped: 0 });
  return code;
}

/** @param {PhaseRow[]} rows */
function phaseTable(rows) {
  const head = ['phase', 'seconds', 'orders by previous', 'by present', 'payments', 'events', 'migrations'];
  const lines = rows.map(({ name, seconds, orders: { previous, present }, payments, events, migrations }) => {
    return [name, seconds.toFixed(1), previous, present, payments, events, migrations];
  });
  return table([head, ...lines]);
}
