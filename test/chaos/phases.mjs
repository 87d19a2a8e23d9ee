import os from 'node:os';
import { isExiting } from '../../scripts/lib/lifecycle.mjs';
import { runJest } from '../../scripts/lib/jest.mjs';
import { runFailover } from './failover/failover.mjs';
import { runLoad } from './load.mjs';
import { table } from './tables.mjs';

/** @import { ChaosOptions } from './arguments.mjs' */

/** @typedef {{ says(options: ChaosOptions): string; run(options: ChaosOptions): Promise<number> }} Phase */

/**
 * What the command can do, in the order in which it does. Each says what it is about to do, and gives an exit code; one
 * that ran nothing fails, since Jest does. The load comes last: its servers stay up until the command ends.
 * @type {Record<string, Phase>}
 */
export const phases = {
  crash: {
    says: () => 'a process killed at every point between two steps of a payment',
    run: () => jest('test/crash', { CRASH_POINTS: 'all' }),
  },
  model: {
    says: ({ modelRuns }) => `${modelRuns} random sequences held against a model of the money`,
    run: runModel,
  },
  fuzz: {
    says: ({ fuzzMinutes, seed }) =>
      `${fuzzMinutes} minutes of bodies of every shape on the callback routes, seed ${seed}`,
    run: ({ fuzzMinutes, seed }) =>
      jest('test/attacks/fuzz', { FUZZ_MINUTES: String(fuzzMinutes), FUZZ_SEED: String(seed) }),
  },
  failover: {
    says: ({ failover, rounds }) => `${rounds} times each a primary that fails under load: ${failover.join(', ')}`,
    run: runFailover,
  },
  load: {
    says: ({ minutes, shops, dropAll }) =>
      `${minutes} minutes of kills under load, ${shops} shops${dropAll ? ', all postbacks dropped' : ''}`,
    run: runLoad,
  },
};

/**
 * Runs the chosen phases, also after one that has failed; prints the account and gives the command's exit code.
 * @param {ChaosOptions} options
 */
export async function runPhases(options, all = phases) {
  const ends = [];
  for (const name of options.phases) {
    const phase = all[name];
    if (!phase) throw new Error(`There is no phase "${name}".`);
    const started = Date.now();
    console.log(`\n=== ${name}: ${phase.says(options)}`);
    const code = await phase.run(options).catch((error) => {
      if (isExiting()) throw error;
      console.error(error);
      return 1;
    });
    ends.push({ name, failed: code !== 0, seconds: Math.round((Date.now() - started) / 1000) });
  }
  const leftOut = Object.keys(all).filter((name) => !options.phases.includes(name));
  console.log(
    `\n=== seed ${options.seed}\n${table([
      ...ends.map(({ name, failed, seconds }) => [name, `${failed ? 'FAILED' : 'passed'}, ${seconds} s`]),
      ...leftOut.map((name) => [name, 'left out: npm run test:chaos without arguments runs all']),
    ])}`,
  );
  return ends.length > 0 && ends.every(({ failed }) => !failed) ? 0 : 1;
}

/**
 * The sequences, split over the machine's cores: each part has a seed of its own, and a database.
 * @param {ChaosOptions} options
 */
async function runModel({ modelRuns, seed }) {
  const parts = Math.min(os.availableParallelism(), modelRuns);
  const codes = await Promise.all(
    Array.from({ length: parts }, (_, part) => {
      const runs = Math.floor(modelRuns / parts) + (part < modelRuns % parts ? 1 : 0);
      return jest('test/model', { MODEL_RUNS: String(runs), MODEL_SEED: String(seed + part) });
    }),
  );
  return Math.max(...codes);
}

/**
 * The counts of a caller are its own: a phase is one check.
 * @param {string} file
 * @param {Record<string, string>} env
 */
function jest(file, env) {
  return runJest([file], { ...env, TEST_COUNTS: '' });
}
