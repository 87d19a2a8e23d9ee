import base from '../../jest.config.mjs';
import { PURE_FILES } from './pure-files.mjs';

// Neither a database nor a count of the tests nor workers: StrykerJS starts Jest once for each mutant.
const { globalSetup: _setup, globalTeardown: _teardown, reporters: _reporters, ...others } = base;
const { workerIdleMemoryLimit: _limit, ...rest } = others;

/**
 * The unit tests that stand beside the code that is mutated: `decide.spec.ts` and `decide.contract.spec.ts`. Not those of
 * its speed (`redact-speed.spec.ts`): on a busy machine they would fail of whatever mutant.
 */
export default {
  ...rest,
  rootDir: '../..',
  testEnvironment: 'node', // which StrykerJS replaces with one that counts
  // The helpers are among them, since Jest finds out through them which tests concern a file.
  roots: ['<rootDir>/libs/payment-acceptance/src', '<rootDir>/test/support'],
  testRegex: PURE_FILES.map((file) => file.replace(/\.ts$/, '(\\.\\w+)?\\.spec\\.ts$')),
};
