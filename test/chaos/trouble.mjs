import { setTimeout as sleep } from 'node:timers/promises';
import { randomFaults } from './faults.mjs';
import { SeededRandom } from './random.mjs';

/** @import { FaultDocument } from 'nestjs-payment-sandbox' */
/** @import { World } from './world.mjs' */

/** Mean pauses: about 120 kills in five minutes. */
const KILL_EVERY_MS = 2_300;
const CUT_EVERY_MS = 2_000;
const FREEZE_EVERY_MS = 15_000;
/** The last one is longer than the leases: when the shop wakes, others have taken its work over. */
const FREEZE_S = [1, 3, 10];
const FAULTS_EVERY_MS = 4_000;

/** How often each, beside the ways in which the database crashes. */
const WHAT = { shop: 62, sandbox: 14 };

/**
 * Kills, cuts and faults at random instants until the signal; resolves when the last of them is over.
 * @param {World} world
 * @param {{ seed: number; dropAll: boolean }} options
 * @param {AbortSignal} signal
 */
export async function makeTrouble({ database, sandbox, control, shops }, { seed, dropAll }, signal) {
  /** @type {(name: string, everyMs: number, act: (random: SeededRandom) => unknown) => Promise<void>} */
  const loop = (name, everyMs, act) => repeat(new SeededRandom(seed, name), everyMs, signal, act);
  /** @type {Set<Promise<void>>} */
  const crashes = new Set();
  /** @param {SeededRandom} random */
  const kill = (random) => {
    const what = random.weighted({ ...WHAT, ...database.kind.crashes });
    const downMs = random.wait(600);
    if (what === 'shop') random.pick(shops).kill(downMs);
    else if (what === 'sandbox') sandbox.kill(downMs);
    else {
      // Other kills go on while the database is away.
      const crash = database.crash(what, downMs, random).finally(() => crashes.delete(crash));
      crashes.add(crash);
    }
  };
  await Promise.all([
    loop('kills', KILL_EVERY_MS, kill),
    loop('cuts', CUT_EVERY_MS, (random) => database.cut(random)),
    loop('freezes', FREEZE_EVERY_MS, (random) => random.pick(shops).freeze(random.pick(FREEZE_S))),
    changeFaults({ control, shops }, (random) => randomFaults(random, dropAll), { seed }, signal),
  ]);
  await Promise.all(crashes);
}

/**
 * Other faults, and another shop that the callbacks go to, from time to time until the signal.
 * @param {Pick<World, 'control' | 'shops'>} world
 * @param {(random: SeededRandom) => FaultDocument} draw
 * @param {{ seed: number }} options
 * @param {AbortSignal} signal
 */
export function changeFaults({ control, shops }, draw, { seed }, signal) {
  return repeat(new SeededRandom(seed, 'faults'), FAULTS_EVERY_MS, signal, async (random) => {
    await control.setFaults(draw(random));
    await control.pointTo(random.pick(shops).url, {
      postbackFormat: random.pick(['json', 'form']),
      postbackSignature: random.pick(['redirect-formula', 'none']),
    });
  });
}

/**
 * @param {SeededRandom} random
 * @param {number} everyMs
 * @param {AbortSignal} signal
 * @param {(random: SeededRandom) => unknown} act
 */
async function repeat(random, everyMs, signal, act) {
  while (await pause(random.wait(everyMs), signal)) await act(random);
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
async function pause(ms, signal) {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
