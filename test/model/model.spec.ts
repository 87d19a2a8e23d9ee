import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../support/seed.js';
import { forge, noFaults, postbackFaults, redirect, replay, requestFaults, stray } from './callbacks.js';
import { cancel, create, rivals } from './creating.js';
import { settleAndCheck } from './final-checks.js';
import { complete, pay } from './paying.js';
import { attach, replayDeadLetters, review, voidIntent } from './operating.js';
import type { Step } from './step.js';
import { aModel } from './truth.js';
import { breakHandlers, check, deliver, everybody, failHandlers, lag, lateAnswer, pass, restart } from './working.js';
import { World } from './world.js';

/** `MODEL_RUNS=20000 MODEL_SEED=1 npm test -- test/model` goes on for long; without them it ends within seconds. */
const ASKED = process.env.MODEL_RUNS;
const RUNS = Number(ASKED ?? 250);
const MODEL_SEED = Number(process.env.MODEL_SEED ?? SEED);
const LEAST = ASKED === undefined ? 20 : RUNS;

/** The sandbox remembers every bill: over many sequences a new one keeps the pace. */
const RENEW_AFTER = 400;

let world: World;

describe('model', () => {
  // For each try of a test that is repeated: the sequences are numbered anew, and the sandbox remembers the orders of the others.
  beforeEach(async () => {
    world = await World.start();
  });
  afterEach(() => world.close());

  async function renew(): Promise<void> {
    await world.close();
    world = await World.start();
  }

  const commands = fc.commands(
    [
      fc.oneof(
        { weight: 6, arbitrary: create },
        { weight: 2, arbitrary: rivals },
        { weight: 2, arbitrary: cancel },
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
        { weight: 2, arbitrary: lag },
        { weight: 2, arbitrary: attach },
        { weight: 1, arbitrary: voidIntent },
        { weight: 3, arbitrary: review },
        { weight: 2, arbitrary: replayDeadLetters },
      ),
    ],
    { maxCommands: 24, size: 'max' },
  );

  test(
    `any sequence of events and faults leaves every payment right (seed ${MODEL_SEED})`,
    async () => {
      let run = 0;
      const sequence = async (steps: Iterable<Step>): Promise<void> => {
        const model = aModel((run += 1));
        if (run % RENEW_AFTER === 0) await renew();
        await world.clear();
        await fc.asyncModelRun(() => ({ model, real: world }), steps);
        await settleAndCheck(model, world);
        if (ASKED !== undefined && run % 500 === 0) process.stdout.write(`${run} of ${ASKED} (seed ${MODEL_SEED})\n`);
      };
      let going = Promise.resolve();
      const property = fc.asyncProperty(commands, (steps) => (going = sequence(steps)));
      await fc.assert(property, {
        seed: MODEL_SEED,
        numRuns: RUNS,
        ...(ASKED === undefined && { interruptAfterTimeLimit: 30_000, markInterruptAsFailure: false }),
      });
      // The sequence that the time limit has interrupted goes on: it must come out right, too, and before the world ends.
      await going;
      expect(run).toBeGreaterThanOrEqual(LEAST);
    },
    3_600_000 + RUNS * 2_000,
  );
});
