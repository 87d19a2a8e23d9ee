import fc from 'fast-check';
import { randomInt } from 'node:crypto';

/** Part of the names of the tests that use it. `TEST_SEED=… npm test` repeats a run. */
export const SEED = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

fc.configureGlobal({ seed: SEED });
