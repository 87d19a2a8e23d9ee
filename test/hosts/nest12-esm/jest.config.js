/** Jest for ES modules, as in Jest's documentation. */
export default {
  moduleFileExtensions: ['js', 'json', 'ts'],
  testRegex: '.*\\.host\\.ts$',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true }] },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testEnvironment: 'node',
  testTimeout: 60_000,
};
