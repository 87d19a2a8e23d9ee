import { afterEach } from '@jest/globals';

/**
 * For what tests open by themselves: what is given to the function returned is called after the test, the last first,
 * however the test has ended. Call this in a `describe`.
 */
export function closing(): (close: () => unknown) => void {
  const closes: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closes.splice(0).reverse()) await close();
  });
  return (close) => void closes.push(close);
}
