import fs from 'node:fs';

/**
 * Of tests, or of checks that count as such. `repeated`: those of the passed that had failed once.
 * @typedef {{ passed: number; failed: number; skipped: number; repeated?: number; reason?: string }} Counts
 */

/**
 * Leaves them for who has started this command, such as .ci/run, in the file that TEST_COUNTS names.
 * @param {Counts} counts
 */
export function leaveCounts(counts) {
  if (process.env.TEST_COUNTS) fs.writeFileSync(process.env.TEST_COUNTS, JSON.stringify(counts));
}

/**
 * What a run has left there, if it has.
 * @returns {Counts}
 */
export function leftCounts() {
  const file = process.env.TEST_COUNTS;
  const text = file && fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  return text === '' ? { passed: 0, failed: 0, skipped: 0 } : JSON.parse(text);
}
