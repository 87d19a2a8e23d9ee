import { availableParallelism } from 'node:os';
import { PURE_FILES } from './pure-files.mjs';

/** Run in a copy of the project (test/mutants/pure.mjs): the mutants are written into the files themselves. */
export default {
  mutate: PURE_FILES,
  inPlace: true,
  testRunner: 'jest',
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  jest: { configFile: 'test/mutants/jest.pure.config.mjs' },
  coverageAnalysis: 'perTest',
  // Node keeps the ES modules of every run of Jest: without an end to it, a worker takes gigabytes.
  maxTestRunnerReuse: 40,
  concurrency: availableParallelism(),
  // On a busy machine, what takes long does not take for ever.
  timeoutMS: 20_000,
  // swc, which compiles the tests, does not check types.
  disableTypeChecks: false,
  logLevel: 'warn',
  warnings: { slow: false },
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: 'reports/mutation.json' },
};
