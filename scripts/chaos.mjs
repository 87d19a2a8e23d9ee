// npm run test:chaos: kills processes and connections at random instants under load, then accounts for every payment.
// npm run test:chaos -- --minutes 5 --seed 7; see docs/chaos.md.
import './lib/node-version.mjs';
import { account } from './lib/chaos/account.mjs';
import { readArguments } from './lib/chaos/arguments.mjs';
import { Buyers } from './lib/chaos/buyers.mjs';
import { randomFaults } from './lib/chaos/faults.mjs';
import { readLedger } from './lib/chaos/ledger.mjs';
import { SeededRandom } from './lib/chaos/random.mjs';
import { report } from './lib/chaos/report.mjs';
import { heal, repeatCallbacks, settle } from './lib/chaos/settle.mjs';
import { makeTrouble } from './lib/chaos/trouble.mjs';
import { startWorld } from './lib/chaos/world.mjs';
import { command, isExiting } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';

process.env.NODE_ENV = 'development'; // with the sandbox it is nothing else, whatever the shell says

await command(async () => {
  const options = readArguments(process.argv.slice(2));
  const { minutes, seed, shops, dropAll } = options;
  console.log(`Seed ${seed}: ${minutes} minutes, ${shops} shops${dropAll ? ', all postbacks dropped' : ''}.`);
  await prepare();
  const world = await startWorld(options);
  try {
    return await run(world, options);
  } catch (error) {
    if (!isExiting()) console.error(`Failed with seed ${seed}; logs: ${world.logs.keep()}`);
    throw error;
  }
});

async function run(world, options) {
  const random = new SeededRandom(options.seed, 'the end');
  await world.control.setFaults(randomFaults(random, options.dropAll));
  console.log('Everything is up; now the trouble begins.');
  const buyers = new Buyers(world, options);
  await troubled(world, options, buyers);

  console.log('Faults off; waiting until everything has settled.');
  await heal(world, options, random);
  const first = await settled(world, buyers);
  if (!options.dropAll) await repeatCallbacks(world, random);
  const last = options.dropAll ? first : await settled(world, buyers);
  return report({ world, options, buyers, first, last });
}

/** Trouble and load until the time is over, and the last of what has begun has ended. */
async function troubled(world, options, buyers) {
  const over = AbortSignal.timeout(options.minutes * 60_000);
  await Promise.all([makeTrouble(world, options, over), buyers.buyUntil(over, options.buyers)]);
}

async function settled(world, buyers) {
  const { bills, waiting, seconds } = await settle(world);
  const ledger = await readLedger(world.database);
  return { ...account({ bills, seen: buyers.seen, ledger }), ledger, waiting, seconds };
}
