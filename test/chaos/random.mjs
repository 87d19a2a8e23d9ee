import { createHash } from 'node:crypto';

/**
 * Random draws that follow from the seed. Each `name` has a sequence of its own, so that what one part of the run draws
 * does not depend on how far another has come.
 */
export class SeededRandom {
  #state;

  /**
   * @param {number | string} seed
   * @param {string} name
   */
  constructor(seed, name) {
    this.#state = createHash('sha256').update(`${seed}:${name}`).digest().readUInt32LE(0);
  }

  /** From 0 up to, but not including, 1 (mulberry32). */
  fraction() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /**
   * A whole number from `least` to `most`.
   * @param {number} least
   * @param {number} most
   */
  whole(least, most) {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  /** @param {number} probability */
  chance(probability) {
    return this.fraction() < probability;
  }

  /**
   * @template T
   * @param {readonly T[]} list
   */
  pick(list) {
    return /** @type {T} */ (list[this.whole(0, list.length - 1)]);
  }

  /**
   * One of the names, each as often as its weight says.
   * @template {string} Name
   * @param {Record<Name, number>} weights
   */
  weighted(weights) {
    const entries = /** @type {[Name, number][]} */ (Object.entries(weights));
    let at = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    const [name] = entries.find(([, weight]) => (at -= weight) < 0) ?? entries.at(-1) ?? [];
    return /** @type {Name} */ (name);
  }

  /**
   * A wait with this mean, in milliseconds; the instants that such waits lead to are not regular in any way.
   * @param {number} mean
   */
  wait(mean) {
    return Math.min(-Math.log(1 - this.fraction()) * mean, mean * 5);
  }
}
