import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../support/seed.js';
import { forge, noFaults, postbackFaults, redirect, replay, requestFaults, stray } from './callbacks.js';
import { create, rivals } from './creating.js';
import { settleAndCheck } from './dust.js';
import { complete, pay } from './paying.js';
import type { Model } from './truth.js';
import { breakHandlers, check, deliver, everybody, failHandlers, lateAnswer, pass, restart } from './working.js';
import { World } from './world.js';

/** `MODEL_RUNS=20000 MODEL_SEED=1 npm test -- test/model` goes on for long; without them it ends within seconds. */
const RUNS = Number(process.env.MODEL_RUNS ?? 250);
const MODEL_SEED = Number(process.env.MODEL_SEED ?? SEED);
const MOST_MS = process.env.MODEL_RUNS === undefined ? 40_000 : undefined;

/** The sandbox remembers every bill: over many sequences a new one keeps the pace. */
const RENEW_AFTER = 400;

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world.close());

async function renew(): Promise<void> {
  await world.close();
  world = await World.start();
}

const commands = fc.commands(
  [
    fc.oneof(
      { weight: 6, arbitrary: create },
      { weight: 2, arbitrary: rivals },
      { weight: 6, arbitrary: pay },
      { weight: 3, arbitrary: complete },
      { weight: 2, arbitrary: forge },
      { weight: 2, arbitrary: replay },
      { weight: 1, arbitrary: stray },
      { weight: 2, arbitrary: redirect },
      { weight: 2, arbitrary: postbackFaults },
      { weight: 2, arbitrary: requestFaults },
      { weight: 1, arbitrary: noFaults },
      { weight: 3, arbitrary: check },
      { weight: 2, arbitrary: deliver },
      { weight: 3, arbitrary: everybody },
      { weight: 4, arbitrary: lateAnswer },
      { weight: 3, arbitrary: pass },
      { weight: 1, arbitrary: failHandlers },
      { weight: 1, arbitrary: breakHandlers },
      { weight: 1, arbitrary: restart },
    ),
  ],
  { maxCommands: 24, size: 'max' },
);

test(`whatever happens, in whatever order, every payment comes out right (seed ${MODEL_SEED})`, async () => {
  let run = 0;
  const property = fc.asyncProperty(commands, async (steps) => {
    const model: Model = { run: (run += 1), bills: [] };
    if (run % RENEW_AFTER === 0) await renew();
    await world.clear();
    await fc.asyncModelRun(() => ({ model, real: world }), steps);
    await settleAndCheck(model, world);
  });
  await fc.assert(property, {
    seed: MODEL_SEED,
    numRuns: RUNS,
    ...(MOST_MS !== undefined && { interruptAfterTimeLimit: MOST_MS, markInterruptAsFailure: false }),
  });
  expect(run).toBeGreaterThan(20);
}, 3_600_000);
