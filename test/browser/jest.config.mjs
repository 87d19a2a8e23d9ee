import base from '../../jest.config.mjs';

/** npm run test:browser: the pages in a real Chromium. One file at a time: each starts a shop and a browser. */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/browser'],
  testRegex: '\\.browser\\.ts$',
  maxWorkers: 1,
  testTimeout: 90_000,
};
