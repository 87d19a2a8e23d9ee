import { setTimeout as sleep } from 'node:timers/promises';
import { Buyers } from '../chaos/buyers.mjs';
import { ChaosDatabase } from '../chaos/database.mjs';
import { randomFaults } from '../chaos/faults.mjs';
import { SeededRandom } from '../chaos/random.mjs';
import { heal, repeatCallbacks, settledAccount } from '../chaos/settle.mjs';
import { changeFaults } from '../chaos/trouble.mjs';
import { makeWorld } from '../chaos/world.mjs';
import { isExiting } from '../../scripts/lib/lifecycle.mjs';
import { Fleet } from './fleet.mjs';
import { between, join, phases } from './phases.mjs';
import { reportUpgrade } from './report.mjs';

/** @import { Supervised } from '../chaos/supervised.mjs' */
/** @import { World } from '../chaos/world.mjs' */
/** @import { Counts, Pair, Phase, PhaseRow, ReleaseName } from './phases.mjs' */
/** @import { Release } from './release.mjs' */

/** @typedef {{ seconds: number; seed: number; dropAll: boolean }} Options */
/** @typedef {Record<ReleaseName, Pair>} Releases */

const BUYERS = 8;

const COUNTS = `SELECT (SELECT count(*) FROM payment_acceptance.event) AS events,
  (SELECT count(*) FROM payment_acceptance.migration) AS migrations`;

/**
 * Rolls from the previous release to the present code and back under load, then accounts for every payment; gives an
 * exit code.
 * @param {Release} release
 * @param {{ seconds: number; seed: number }} options
 */
export async function runUpgrade({ commit, version, folder }, { seconds, seed }) {
  const options = { seconds, seed, dropAll: false };
  console.log(`From ${version} (${commit.slice(0, 12)}) to the present code and back; seed ${seed}.`);
  const instances = [
    { name: 'previous-1', folder },
    { name: 'previous-2', folder },
    { name: 'present-1' },
    { name: 'present-2' },
  ];
  const world = await makeWorld(instances, await ChaosDatabase.start());
  try {
    return await run(world, options);
  } catch (error) {
    if (!isExiting()) console.error(`Failed with seed ${seed}; logs: ${world.logs.keep()}`);
    throw error;
  }
}

/**
 * @param {World} world
 * @param {Options} options
 */
async function run(world, options) {
  const random = new SeededRandom(options.seed, 'the releases');
  const pair = (/** @type {number} */ from) => /** @type {Pair} */ (world.shops.slice(from, from + 2));
  const releases = { previous: pair(0), present: pair(2) };
  const fleet = new Fleet(world, random);
  await world.sandbox.begin();
  await Promise.all(releases.previous.map((shop) => fleet.start(shop)));

  const inService = { ...world, shops: fleet.inService };
  const buyers = new Buyers(inService, options);
  const rows = await underLoad(inService, buyers, options, async () => {
    const passed = [];
    for (const phase of phases) passed.push(await pass(phase, { world, fleet, releases, buyers, ...options }));
    return passed;
  });

  console.log('Faults off; waiting until everything has settled.');
  await heal(inService, options, random);
  const first = await settledAccount(inService, buyers);
  const isStuck = Object.values(first.waiting).some((count) => count > 0);
  if (!isStuck) await repeatCallbacks(inService, random);
  const last = isStuck ? first : await settledAccount(inService, buyers); // nobody waits for what is stuck once more
  return reportUpgrade({ world, fleet, options, buyers, rows, first, last });
}

/**
 * Does the work while buyers buy and the service has its faults.
 * @template T
 * @param {World} world
 * @param {Buyers} buyers
 * @param {Options} options
 * @param {() => Promise<T>} work
 */
async function underLoad(world, buyers, options, work) {
  const over = new AbortController();
  const load = [buyers.buyUntil(over.signal, BUYERS), changeFaults(world, faultsOfAPhase, options, over.signal)];
  const result = await work();
  over.abort();
  await Promise.all(load);
  return result;
}

/**
 * Without refusals of checks, upon which a shop is left alone for a minute: a phase is shorter.
 * @param {SeededRandom} random
 */
function faultsOfAPhase(random) {
  const { requests = {}, ...others } = randomFaults(random, false);
  const kept = Object.entries(requests).filter(
    ([, fault]) => typeof fault === 'number' || fault.operation !== 'payments',
  );
  return { ...others, requests: Object.fromEntries(kept) };
}

/**
 * One phase, for its seconds at least; gives its row of the table.
 * @param {Phase} phase
 * @param {{ world: World; fleet: Fleet; releases: Releases; buyers: Buyers; seconds: number }} about
 * @returns {Promise<PhaseRow>}
 */
async function pass({ name, releases: wanted, joins, leaves }, { world, fleet, releases, buyers, seconds }) {
  const began = Date.now();
  console.log(`${name} …`);
  const before = await counts(world, releases, buyers);
  await Promise.all([joins && leaves && join(fleet, releases[joins], releases[leaves]), sleep(seconds * 1000)]);
  if (leaves) await Promise.all(releases[leaves].map((shop) => fleet.stop(shop)));
  const came = between(before, await counts(world, releases, buyers));
  return { name, releases: wanted, seconds: (Date.now() - began) / 1000, ...came };
}

/**
 * What has come about so far. Which instance settled a payment is nowhere on record; which one took an order, buyers know.
 * @param {World} world
 * @param {Releases} releases
 * @param {Buyers} buyers
 * @returns {Promise<Counts>}
 */
async function counts({ database }, releases, { seen, counts: { paid } }) {
  const [row = {}] = await database.query((client) => client.query(COUNTS));
  /** @param {Supervised[]} shops */
  const ordersOf = (shops) => seen.orders.filter(({ shop }) => shops.some(({ url }) => url === shop)).length;
  return {
    orders: { previous: ordersOf(releases.previous), present: ordersOf(releases.present) },
    payments: paid,
    events: Number(row.events),
    migrations: Number(row.migrations),
  };
}
