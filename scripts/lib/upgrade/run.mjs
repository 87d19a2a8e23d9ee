import { setTimeout as sleep } from 'node:timers/promises';
import { Buyers } from '../chaos/buyers.mjs';
import { randomFaults } from '../chaos/faults.mjs';
import { SeededRandom } from '../chaos/random.mjs';
import { heal, repeatCallbacks, settledAccount } from '../chaos/settle.mjs';
import { changeFaults } from '../chaos/trouble.mjs';
import { makeWorld } from '../chaos/world.mjs';
import { isExiting } from '../lifecycle.mjs';
import { Fleet } from './fleet.mjs';
import { between, join, phases } from './phases.mjs';
import { reportUpgrade } from './report.mjs';

const BUYERS = 8;

const COUNTS = `SELECT (SELECT count(*) FROM payment_acceptance.event) AS events,
  (SELECT count(*) FROM payment_acceptance.migration) AS migrations`;

/**
 * Rolls from the previous release to the present code and back under load, then accounts for every payment; gives an
 * exit code.
 */
export async function runUpgrade({ commit, version, folder }, { seconds, seed }) {
  const options = { seconds, seed, dropAll: false };
  console.log(`From ${version} (${commit.slice(0, 12)}) to the present code and back; seed ${seed}.`);
  const world = await makeWorld([
    { name: 'previous-1', folder },
    { name: 'previous-2', folder },
    { name: 'present-1' },
    { name: 'present-2' },
  ]);
  try {
    return await run(world, options);
  } catch (error) {
    if (!isExiting()) console.error(`Failed with seed ${seed}; logs: ${world.logs.keep()}`);
    throw error;
  }
}

async function run(world, options) {
  const random = new SeededRandom(options.seed, 'the releases');
  const releases = { previous: world.shops.slice(0, 2), present: world.shops.slice(2) };
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

/** Does the work while buyers buy and the service has its faults. */
async function underLoad(world, buyers, options, work) {
  const over = new AbortController();
  const load = [buyers.buyUntil(over.signal, BUYERS), changeFaults(world, faultsOfAPhase, options, over.signal)];
  const result = await work();
  over.abort();
  await Promise.all(load);
  return result;
}

/** Without refusals of checks, upon which a shop is left alone for a minute: a phase is shorter. */
function faultsOfAPhase(random) {
  const { requests, ...others } = randomFaults(random, false);
  const kept = Object.entries(requests).filter(([, { operation }]) => operation !== 'payments');
  return { ...others, requests: Object.fromEntries(kept) };
}

/** One phase, for its seconds at least; gives its row of the table. */
async function pass({ name, releases: wanted, joins, leaves }, { world, fleet, releases, buyers, seconds }) {
  const began = Date.now();
  console.log(`${name} …`);
  const before = await counts(world, releases, buyers);
  await Promise.all([joins && join(fleet, releases[joins], releases[leaves]), sleep(seconds * 1000)]);
  if (leaves) await Promise.all(releases[leaves].map((shop) => fleet.stop(shop)));
  const came = between(before, await counts(world, releases, buyers));
  return { name, releases: wanted, seconds: (Date.now() - began) / 1000, ...came };
}

/** What has come about so far. Which instance settled a payment is nowhere on record; which one took an order, buyers know. */
async function counts({ database }, releases, { seen, counts: { paid } }) {
  const [row] = await database.query((client) => client.query(COUNTS));
  const ordersOf = (shops) => seen.orders.filter(({ shop }) => shops.some(({ url }) => url === shop)).length;
  return {
    orders: { previous: ordersOf(releases.previous), present: ordersOf(releases.present) },
    payments: paid,
    events: Number(row.events),
    migrations: Number(row.migrations),
  };
}
