import fc from 'fast-check';
import type { Model } from './truth.js';
import type { World } from './world.js';

export type Step = fc.AsyncCommand<Model, World>;

/** A command with random parameters, which its name in a counterexample shows. */
export function step<P>(
  name: string,
  parameters: fc.Arbitrary<P>,
  run: (model: Model, world: World, parameters: P) => Promise<void>,
  ready: (model: Model) => boolean = (model) => model.bills.length > 0,
): fc.Arbitrary<Step> {
  return parameters.map((chosen) => ({
    check: ready,
    async run(model, world) {
      await run(model, world, chosen);
      await world.told(model);
    },
    toString: () => `${name}(${fc.stringify(chosen)})`,
  }));
}

/** One of a list, by a random number that does not know its length. */
export function pick<T>(list: readonly T[], index: number): T {
  const item = list[index % list.length];
  if (item === undefined) throw new Error('There is nothing to pick from.');
  return item;
}

/** Small, so that steps meet the same bills again. */
export const anIndex = fc.nat({ max: 5 });
