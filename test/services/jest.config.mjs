import base from '../../jest.config.mjs';

/** The suites of `npm test` that depend on the database's behaviour: settlement, deliveries, retention, stores. */
const SUITES = [
  'test/invariants/(0[4-9]|10)-.*\\.spec\\.ts$',
  'test/failures/(deliveries|lifecycle|retention)\\.spec\\.ts$',
  'test/storage/.*\\.spec\\.ts$',
];
/** The built sample shop. */
const ON_MARIADB = [
  ...SUITES,
  'test/data-layers/(data-layers|verification)\\.spec\\.ts$',
  'test/shop/shop\\.spec\\.ts$',
];
/** Unit tests of PostgreSQL code. */
const ON_POSTGRES = [...SUITES, 'libs/payment-acceptance/src/(database|.*/storage|brokers/inbox)/.*\\.spec\\.ts$'];
const SERVICES = 'test/services/.*\\.services\\.ts$';

/** npm run test:services: against real servers. The stores' suites run if scripts/services.mjs has found their database. */
export default {
  ...base,
  rootDir: '../..',
  testRegex:
    process.env.TEST_DATABASE === 'mariadb'
      ? ON_MARIADB
      : [SERVICES, ...(process.env.TEST_DATABASE_URL ? ON_POSTGRES : [])],
  testTimeout: 60_000,
};
