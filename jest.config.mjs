import os from 'node:os';

/** What a worker may come to take. */
const WORKER_BYTES = 1.5 * 1024 ** 3;

/** ES modules throughout: run through `npm test`, which passes node the flag that Jest needs for them. */
export default {
  testEnvironment: '<rootDir>/test/support/jest-environment.mjs',
  // Libraries resolve to their sources, so a test never runs against an old build.
  testEnvironmentOptions: { customExportConditions: ['payment-source', 'node', 'node-addons'] },
  globalSetup: '<rootDir>/test/support/database-setup.mjs',
  globalTeardown: '<rootDir>/test/support/database-teardown.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/repeat-failures.mjs'],
  reporters: ['default', '<rootDir>/test/support/jest-reporter.mjs'],
  maxWorkers: Math.max(1, Math.min(os.availableParallelism(), Math.floor(os.freemem() / WORKER_BYTES))),
  // One that holds on to more than this after a file gives way to a new one.
  workerIdleMemoryLimit: WORKER_BYTES / 2,
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/libs/[^/]+/dist'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  testTimeout: 90_000,
};
