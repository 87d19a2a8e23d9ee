import { isExiting } from '../../scripts/lib/lifecycle.mjs';
import { Buyers } from './buyers.mjs';
import { ChaosDatabase } from './database.mjs';
import { randomFaults } from './faults.mjs';
import { SeededRandom } from './random.mjs';
import { report } from './report.mjs';
import { heal, repeatCallbacks, settledAccount } from './settle.mjs';
import { makeTrouble } from './trouble.mjs';
import { startWorld } from './world.mjs';

/** @import { ChaosOptions } from './arguments.mjs' */
/** @import { World } from './world.mjs' */

/**
 * Kills processes and connections at random instants under load, then accounts for every payment; gives an exit code.
 * @param {ChaosOptions} options
 */
export async function runLoad(options) {
  const world = await startWorld(options.shops, await ChaosDatabase.start());
  try {
    return await run(world, options);
  } catch (error) {
    if (!isExiting()) console.error(`Failed with seed ${options.seed}; logs: ${world.logs.keep()}`);
    throw error;
  }
}

/**
 * @param {World} world
 * @param {ChaosOptions} options
 */
async function run(world, options) {
  const random = new SeededRandom(options.seed, 'the end');
  await world.control.setFaults(randomFaults(random, options.dropAll));
  console.log('Everything is up; now the trouble begins.');
  const buyers = new Buyers(world, options);
  await troubled(world, options, buyers);

  console.log('Faults off; waiting until everything has settled.');
  await heal(world, options, random);
  const first = await settledAccount(world, buyers);
  if (!options.dropAll) await repeatCallbacks(world, random);
  const last = options.dropAll ? first : await settledAccount(world, buyers);
  return report({ world, options, buyers, first, last });
}

/**
 * Trouble and load until the time is over, and the last of what has begun has ended.
 * @param {World} world
 * @param {ChaosOptions} options
 * @param {Buyers} buyers
 */
async function troubled(world, options, buyers) {
  const over = AbortSignal.timeout(options.minutes * 60_000);
  await Promise.all([makeTrouble(world, options, over), buyers.buyUntil(over, options.buyers)]);
}
