import { afterEach } from '@jest/globals';

/**
 * Cleans up what tests open. Call this in a `describe`: the callbacks given to the returned function run after each test,
 * last first, even if the test has failed.
 */
export function closing(): (close: () => unknown) => void {
  const closes: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closes.splice(0).reverse()) await close();
  });
  return (close) => void closes.push(close);
}
