import type { Harness } from '../../support/harness.js';

/** How often the service has been asked about a bill. */
export const checksOf = ({ sandbox }: Harness): number =>
  sandbox.requests.filter(({ operation }) => operation === 'payments').length;

/** Advances time in steps; returns the number of checks. */
export async function pass(harness: Harness, totalMs: number, stepMs: number): Promise<number> {
  const before = checksOf(harness);
  for (let passed = 0; passed < totalMs; passed += stepMs) {
    harness.clock.advance(stepMs);
    await harness.settle();
  }
  return checksOf(harness) - before;
}
