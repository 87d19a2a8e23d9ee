/** @typedef {{ median: number; min: number; max: number }} Figure over all rounds */

/**
 * What is said of one figure over all rounds.
 * @param {readonly number[]} values
 * @returns {Figure}
 */
export function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN };
}

/**
 * Of values in ascending order; between two neighbours it lies in proportion.
 * @param {ArrayLike<number>} sorted
 * @param {number} share
 */
export function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)] ?? NaN, sorted[Math.ceil(at)] ?? NaN];
  return low + (high - low) * (at - Math.floor(at));
}
