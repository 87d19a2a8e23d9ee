/** ES modules throughout: run through `npm test`, which passes node the flag that Jest needs for them. */
export default {
  testEnvironment: 'node',
  // Libraries resolve to their sources, so a test never runs against an old build.
  testEnvironmentOptions: { customExportConditions: ['payment-source', 'node', 'node-addons'] },
  globalSetup: '<rootDir>/test/support/database-setup.mjs',
  globalTeardown: '<rootDir>/test/support/database-teardown.mjs',
  reporters: ['default', '<rootDir>/scripts/lib/jest-reporter.mjs'],
  maxWorkers: 2,
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
  testTimeout: 30_000,
};
