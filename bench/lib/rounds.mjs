import { summary } from './statistics.mjs';

/** @typedef {Record<string, number>} Figures of a round, by their names */
/** @typedef {{ name: string; measure(round: { warmingUp: boolean }): Promise<Figures> }} Measured */

/** What the contestants have come to: of each, a number of each figure for each round. */
export class Samples {
  /** @type {Map<string, Map<string, number[]>>} */
  #rounds = new Map();

  /** The contestants. */
  get names() {
    return [...this.#rounds.keys()];
  }

  /**
   * @param {string} name
   * @param {Figures} figures
   */
  add(name, figures) {
    const own = this.#rounds.get(name) ?? new Map();
    this.#rounds.set(name, own);
    for (const [figure, value] of Object.entries(figures)) own.set(figure, [...(own.get(figure) ?? []), value]);
  }

  /**
   * @param {string} name
   * @param {string} figure
   */
  has(name, figure) {
    return this.#rounds.get(name)?.has(figure) ?? false;
  }

  /**
   * What is said of a contestant's figure.
   * @param {string} name
   * @param {string} figure
   */
  summary(name, figure) {
    return summary(this.#of(name, figure));
  }

  /**
   * How many times `over` is of `base`, round by round.
   * @param {string} over
   * @param {string} base
   * @param {string} figure
   */
  ratio(over, base, figure) {
    const below = this.#of(base, figure);
    return summary(this.#of(over, figure).map((value, round) => value / (below[round] ?? NaN)));
  }

  /**
   * @param {string} name
   * @param {string} figure
   */
  #of(name, figure) {
    const values = this.#rounds.get(name)?.get(figure);
    if (!values) throw new Error(`${name} has no figure "${figure}".`);
    return values;
  }
}

/**
 * Measures contestants in turn, round after round, so that whatever else the machine does meets all of them; each round
 * begins with another one. The first round warms up and does not count. All must give the same figures each time.
 * @param {Measured[]} contestants
 * @param {{ rounds: number; log(line: string): void }} options
 */
export async function interleave(contestants, { rounds, log }) {
  const samples = new Samples();
  for (let round = -1; round < rounds; round++) {
    const first = Math.abs(round) % contestants.length;
    for (const { name, measure } of [...contestants.slice(first), ...contestants.slice(0, first)]) {
      const figures = await measure({ warmingUp: round < 0 });
      const shown = Object.entries(figures).map(([figure, value]) => `${figure} ${Number(value.toPrecision(4))}`);
      log(`${round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`}: ${name}: ${shown.join(', ')}`);
      if (round >= 0) samples.add(name, figures);
    }
  }
  return samples;
}
