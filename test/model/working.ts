import fc from 'fast-check';
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

export const restart = step('restart', anIndex, (_model, world, index) => world.restart(index % 2), always);

const consumer = fc.constantFrom('orders', 'eu-books', 'event-emitter');

export const failHandlers = step(
  'handlers fail',
  fc.record({ consumer, times: fc.integer({ min: 1, max: 4 }) }),
  (_model, world, { consumer: name, times }) => Promise.resolve(world.desk.fail(name, times)),
  always,
);

/** The consumer fails on every event of an order, long enough for dead letters. */
export const breakHandlers = step(
  'handlers break',
  fc.record({ consumer, bill: anIndex, for: fc.constantFrom(0, 4) }),
  async (model, world, { consumer: name, bill, for: rounds }) => {
    world.desk.break(name, pick(model.bills, bill).orderId);
    for (let round = 0; round < rounds; round += 1) {
      await world.pass(70 * SECOND);
      await world.everybody();
    }
  },
);

const during = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: pay },
    { weight: 3, arbitrary: complete },
    { weight: 1, arbitrary: forge },
    { weight: 1, arbitrary: time(3 * SECOND) },
    { weight: 1, arbitrary: check },
    { weight: 1, arbitrary: deliver },
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
    await Promise.race([reached, checking]);
    await runAll(steps, model, world);
    if (stale) {
      await world.pass(LEASE_MS + SECOND);
      await world.free(by % 2).instance.confirmer.runOnce();
    }
    release();
    await checking;
  },
);
