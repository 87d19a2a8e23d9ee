/** What is said of one figure over all rounds. */
export function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: sorted[0], max: sorted.at(-1) };
}

/** Of values in ascending order; between two neighbours it lies in proportion. */
export function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low + (high - low) * (at - Math.floor(at));
}
