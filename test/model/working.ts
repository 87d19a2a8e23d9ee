import fc from 'fast-check';
import { CONSUMERS } from './desk.js';
import { attach, replayDeadLetters, review } from './operating.js';
import { complete, pay } from './paying.js';
import { forge } from './callbacks.js';
import { anIndex, pick, step, type Step } from './step.js';
import type { Model } from './truth.js';
import { DAY, LEASE_MS, MINUTE, SECOND, type World } from './world.js';

const always = () => true;

export const check = step('check', anIndex, async (_model, world, by) => {
  await world.free(by % 2).instance.confirmer.runOnce();
});

export const deliver = step('deliver', anIndex, async (_model, world, by) => {
  await world.free(by % 2).instance.deliveries.runOnce();
});

/** Both instances check and deliver at the same moment, once the hints may be acted on. */
export const everybody = step('everybody', fc.constant(null), async (_model, world) => {
  await world.pass(3 * SECOND);
  await world.everybody();
});

const time = (...ms: number[]) =>
  step('pass', fc.constantFrom(...ms), (_model, world, passed) => world.pass(passed), always);

export const pass = time(3 * SECOND, 3 * SECOND, 30 * SECOND, 70 * SECOND, 7 * 60 * MINUTE, DAY, 3 * DAY);

export const restart = step(
  'restart',
  fc.record({ index: anIndex, books: fc.boolean() }),
  (_model, world, { index, books }) => world.restart(index % 2, books),
  always,
);

/** The service's lists lag from now on; only at the start, so that what the module was told is said easily. */
export const lag = step(
  'lists lag',
  fc.constant(null),
  (_model, world) => {
    world.replica.lagging = true;
    return Promise.resolve();
  },
  (model) => model.bills.length === 0,
);

const consumer = fc.constantFrom(...Object.keys(CONSUMERS));

export const failHandlers = step(
  'handlers fail',
  fc.record({ consumer, times: fc.integer({ min: 1, max: 4 }) }),
  (_model, world, { consumer: name, times }) => Promise.resolve(world.desk.fail(name, times)),
  always,
);

/** The consumer fails on every event of an order from now on. */
export const breakHandlers = step('handlers break', fc.record({ consumer, bill: anIndex }), (model, world, broken) =>
  Promise.resolve(world.desk.break(broken.consumer, pick(model.bills, broken.bill).orderId)),
);

const during = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: pay },
    { weight: 3, arbitrary: complete },
    { weight: 1, arbitrary: forge },
    { weight: 1, arbitrary: time(3 * SECOND) },
    { weight: 1, arbitrary: check },
    { weight: 1, arbitrary: deliver },
    { weight: 1, arbitrary: attach },
    { weight: 1, arbitrary: review },
    { weight: 1, arbitrary: replayDeadLetters },
  ),
  { minLength: 1, maxLength: 4 },
);

async function runAll(steps: readonly Step[], model: Model, world: World): Promise<void> {
  for (const inner of steps) if (inner.check(model)) await inner.run(model, world);
}

/**
 * One instance's answers, to a bill with a hint at least, come late: other things happen after they were made. A stale one comes after its lease, when
 * the other instance has checked the same bills.
 */
export const lateAnswer = step(
  'late answer',
  fc.record({ bill: anIndex, by: anIndex, stale: fc.boolean(), during }),
  async (model, world, { bill, by, stale, during: steps }) => {
    await world.sandbox.forge(pick(model.bills, bill).billId);
    await world.told(model);
    await world.pass(3 * SECOND);
    const slot = world.free(by % 2);
    const { reached, release } = slot.hold();
    const checking = slot.instance.confirmer.runOnce();
    try {
      await Promise.race([reached, checking]);
      await runAll(steps, model, world);
      if (stale) {
        await world.pass(LEASE_MS + SECOND);
        await world.free(by % 2).instance.confirmer.runOnce();
      }
    } finally {
      release();
      await checking;
    }
  },
);
