import { isExiting } from '../../../scripts/lib/lifecycle.mjs';
import { table } from '../tables.mjs';
import { startWorld } from '../world.mjs';
import { repeatCallbacks } from '../settle.mjs';
import { SeededRandom } from '../random.mjs';
import { kinds } from './kinds.mjs';
import { mariadbPair } from './mariadb-pair.mjs';
import { DatabasePair } from './pair.mjs';
import { postgresPair } from './postgres-pair.mjs';
import { accountOf, runRound } from './round.mjs';

/** @import { ChaosOptions } from '../arguments.mjs' */
/** @import { World } from '../world.mjs' */
/** @import { KindName } from './kinds.mjs' */
/** @import { Past } from './round.mjs' */

/** @typedef {Awaited<ReturnType<typeof runRound>>} Round */

const SHOPS = 3;

/**
 * Has the primary fail under load in each of the chosen ways, and accounts for every payment; gives an exit code.
 * @param {ChaosOptions} options
 */
export async function runFailover(options) {
  const database = await DatabasePair.start(process.env.TEST_DATABASE === 'mariadb' ? mariadbPair : postgresPair);
  const world = await startWorld(SHOPS, database);
  try {
    return await run(world, options);
  } catch (error) {
    if (!isExiting()) console.error(`Failed with seed ${options.seed}; logs: ${world.logs.keep()}`);
    throw error;
  } finally {
    if (!isExiting()) await endWorld(world);
  }
}

/**
 * Another phase may follow, which is to have the machine for itself.
 * @param {World<DatabasePair>} world
 */
async function endWorld({ database, sandbox, shops }) {
  await Promise.all([sandbox, ...shops].map((server) => server.end()));
  await database.end();
}

/**
 * @param {World<DatabasePair>} world
 * @param {ChaosOptions} options
 */
async function run(world, { failover, rounds, seed, loadSeconds, lagSeconds }) {
  /** @type {Past} */
  const past = { seen: { orders: [], postbacks: [], redirects: [] }, gone: new Set(), commitsLost: false };
  const done = [];
  for (const kind of failover) {
    for (let round = 1; round <= rounds; round++) {
      const result = await runRound(world, { kind, round, seed, loadSeconds, lagSeconds, past });
      done.push(result);
      console.log(lineOf(result, rounds));
      sentencesOf(result).forEach((sentence) => console.error(`  ${sentence}`));
    }
  }
  await repeatCallbacks(world, new SeededRandom(seed, 'the end'));
  const last = await accountOf(world, past);
  const late = sentencesOf({ ...last, misses: [] });
  const crashed = world.shops.flatMap(({ name, endedByItself }) =>
    endedByItself.map((code) => `the ${name} was up and ended by itself with code ${code}`),
  );
  return report({ world, seed, done, others: [...late, ...crashed] });
}

/** @param {{ world: World<DatabasePair>; seed: number; done: Round[]; others: string[] }} about */
function report({ world, seed, done, others }) {
  const rows = [...new Set(done.map(({ name }) => name))].map((name) =>
    rowOf(
      name,
      done.filter((each) => each.name === name),
    ),
  );
  console.log(
    `\n${table([['kind', 'rounds', 'payments', 'lost', 'double', 'shop back p50 / slowest', 'slowest SIGTERM'], ...rows])}`,
  );
  others.forEach((sentence) => console.error(sentence));
  const failed = others.length > 0 || done.some((result) => sentencesOf(result).length > 0);
  console.log(failed ? `\nFailed with seed ${seed}; logs: ${world.logs.keep()}` : `\nEverything held (seed ${seed}).`);
  return failed ? 1 : 0;
}

/**
 * @param {KindName} name
 * @param {Round[]} results
 */
function rowOf(name, results) {
  /** @param {(result: Round) => number} read */
  const sum = (read) => results.reduce((total, result) => total + read(result), 0);
  const backs = results.flatMap(({ backs: each }) => each.map(({ ms }) => ms ?? Infinity)).sort((a, b) => a - b);
  const last = results.at(-1);
  return [
    name,
    results.length,
    sum(({ payments }) => payments),
    last?.lost.length ?? 0,
    last?.double.length ?? 0,
    `${seconds(backs[Math.floor(backs.length / 2)] ?? Infinity)} / ${seconds(backs.at(-1) ?? Infinity)} of ${kinds[name].backS} s`,
    seconds(Math.max(...results.map(({ sigterm }) => sigterm.ms))),
  ];
}

/**
 * @param {Round} round
 * @param {number} rounds
 */
function lineOf({ name, round, payments, lost, double, backs, sigterm, recovered, held, seconds: settled }, rounds) {
  const shops = backs.map(
    (each) => `${each.name} ${seconds(each.ms ?? Infinity)}${each.restarted ? ' (restarted)' : ''}`,
  );
  return (
    `${name} ${round}/${rounds}: ${payments} payments, lost ${lost.length}, double ${double.length}, settled ${settled.toFixed(1)} s; ` +
    `back: ${shops.join(', ')}; SIGTERM while ${sigterm.state}: ${seconds(sigterm.ms)}${held > 0 ? `; ${held} sessions held to a server that is gone` : ''}${recovered ? `; ${recoveryOf(recovered)}` : ''}`
  );
}

/** @param {NonNullable<Round['recovered']>} recovered */
function recoveryOf({ lost, byLog, byPostback, byStatement, gone }) {
  return `bills gone with their commits: ${lost}, found by the log ${byLog}, by postbacks ${byPostback}, by the statement ${byStatement}, unpaid and not knowable ${gone.length}`;
}

/** @param {Pick<Round, 'lost' | 'double' | 'misses'>} round */
function sentencesOf({ lost, double, misses }) {
  return [...lost.map((each) => `lost: ${each}`), ...double.map((each) => `double: ${each}`), ...misses];
}

/** @param {number} ms */
function seconds(ms) {
  return ms === Infinity ? 'never' : `${(ms / 1000).toFixed(1)} s`;
}
