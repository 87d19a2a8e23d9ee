import { table } from './tables.mjs';

/** @import { Account } from './settle.mjs' */
/** @import { Buyers } from './buyers.mjs' */
/** @import { World } from './world.mjs' */

const SHOWN = 40;

/**
 * Prints the account; gives the command's exit code. `first`: before everything was sent again, `last`: after it. `rows`:
 * what was done to the world; `others`: what else went wrong.
 * @param {{ world: World; options: { seed: number; dropAll: boolean }; buyers: Buyers; first: Account; last: Account; rows?: (string | number)[][]; others?: string[] }} about
 */
export function report({ world, options, buyers, first, last, rows = damage(world), others = [] }) {
  const problems = {
    lost: union(first.lost, last.lost),
    double: union(first.double, last.double),
    other: [...others, ...otherProblems(world, options, last)],
  };
  console.log(
    `\n${table([
      ...rows,
      [
        'orders tried',
        `${buyers.counts.ordered}, ${buyers.counts.refused} without a bill at first, ${buyers.counts.cameBack} came back`,
      ],
      ...last.figures,
      ...(options.dropAll ? [['settled by the schedule alone', scheduled(last)]] : []),
      ['settled after the last fault', `${first.seconds.toFixed(1)} s`],
      ['lost', problems.lost.length],
      ['double', problems.double.length],
    ])}`,
  );
  const failed = Object.values(problems).some((list) => list.length > 0);
  if (failed) printProblems(problems, options, world.logs.keep());
  else console.log(`\nNothing lost, nothing double (seed ${options.seed}).`);
  return failed ? 1 : 0;
}

/** @param {World} world */
function damage({ database, sandbox, shops }) {
  const ofShops = shops.reduce((sum, { kills }) => sum + kills, 0);
  const crashes = Object.values(database.crashes);
  return [
    ['kills', crashes.reduce((sum, count) => sum + count, ofShops + sandbox.kills)],
    ['  shops, kill -9', ofShops],
    ['  sandbox, kill -9', sandbox.kills],
    [`  ${database.kind.name}: ${Object.keys(database.crashes).join(', ')}`, crashes.join(', ')],
    ['shops frozen and woken', shops.reduce((sum, { freezes }) => sum + freezes, 0)],
    ['connections cut', database.cuts],
  ];
}

/**
 * @param {Pick<World, 'shops' | 'sandbox'>} world
 * @param {{ dropAll: boolean }} options
 * @param {Account} last
 */
function otherProblems({ shops, sandbox }, { dropAll }, { waiting, ledger }) {
  const open = Object.entries(waiting).filter(([, count]) => count > 0);
  return [
    ...open.map(([what, count]) => `${count} ${what} did not settle in time`),
    ...[sandbox, ...shops].flatMap(({ name, endedByItself }) =>
      endedByItself.map((code) => `the ${name} was up and ended by itself with code ${code}`),
    ),
    ...(dropAll && ledger.callbacks.length > 0
      ? [`${ledger.callbacks.length} callbacks arrived, and none should`]
      : []),
  ];
}

/** @param {Account} last */
function scheduled({ ledger }) {
  const settled = ledger.payments.filter(({ status }) => status === 'SUCCESS' || status === 'FAIL').length;
  return `${settled} payments, with ${ledger.callbacks.length} callbacks`;
}

/**
 * @param {Record<string, string[]>} problems
 * @param {{ seed: number }} options
 * @param {string} logs
 */
function printProblems(problems, { seed }, logs) {
  for (const [kind, list] of Object.entries(problems)) {
    for (const problem of list.slice(0, SHOWN)) console.error(`${kind}: ${problem}`);
    if (list.length > SHOWN) console.error(`${kind}: and ${list.length - SHOWN} more`);
  }
  console.error(`\nFailed with seed ${seed}; logs: ${logs}`);
}

/**
 * @param {string[]} some
 * @param {string[]} others
 */
function union(some, others) {
  return [...new Set([...some, ...others])];
}
