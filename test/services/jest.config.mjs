import base from '../../jest.config.mjs';

/** The suites of `npm test` that stand on the database's own behaviour: settlement, deliveries, retention, stores. */
const SUITES = [
  'test/invariants/(0[4-9]|10)-.*\\.spec\\.ts$',
  'test/failures/(deliveries|lifecycle|retention)\\.spec\\.ts$',
  'test/storage/.*\\.spec\\.ts$',
];
/** The sample shop, as it is run. */
const ON_MARIADB = [...SUITES, 'test/shop/shop\\.spec\\.ts$'];
/** Unit tests of what is PostgreSQL's alone. */
const ON_POSTGRES = [...SUITES, 'libs/payment-acceptance/src/(storage|inbox)/.*\\.spec\\.ts$'];
const SERVICES = 'test/services/.*\\.services\\.ts$';

/** npm run test:services: against real servers. The stores' suites where scripts/services.mjs has found their database. */
export default {
  ...base,
  rootDir: '../..',
  testRegex:
    process.env.TEST_DATABASE === 'mariadb'
      ? ON_MARIADB
      : [SERVICES, ...(process.env.TEST_DATABASE_URL ? ON_POSTGRES : [])],
  testTimeout: 60_000,
};
