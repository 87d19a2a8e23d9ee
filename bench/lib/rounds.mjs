import { summary } from './statistics.mjs';

/**
 * Measures contestants in turn, round after round, so that whatever else the machine does meets all of them; each round
 * begins with another one. The first round warms up and does not count.
 *
 * @param contestants `[{ name, measure() }]`; `measure` gives an object of numbers, the same names each time
 * @returns `Map(name → { [figure]: number[] })`, a number for each round
 */
export async function interleave(contestants, { rounds, warmUp = 1, log = () => {} }) {
  const samples = new Map(contestants.map(({ name }) => [name, {}]));
  for (let round = -warmUp; round < rounds; round++) {
    const first = Math.abs(round) % contestants.length;
    for (const { name, measure } of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      const figures = await measure({ warmingUp: round < 0 });
      const shown = Object.entries(figures).map(([figure, value]) => `${figure} ${Number(value.toPrecision(4))}`);
      log(`${round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`}: ${name}: ${shown.join(', ')}`);
      if (round < 0) continue;
      for (const [figure, value] of Object.entries(figures)) (samples.get(name)[figure] ??= []).push(value);
    }
  }
  return samples;
}

/** How many times `over` is of `base`, round by round: `{ median, min, max }`. */
export function ratio(samples, over, base, figure) {
  const below = samples.get(base)[figure];
  return summary(samples.get(over)[figure].map((value, round) => value / below[round]));
}
