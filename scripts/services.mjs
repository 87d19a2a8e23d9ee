// npm run test:services: the store, delivery and broker suites against real servers, named by TEST_POSTGRES_URL,
// TEST_MARIADB_URL, TEST_RABBITMQ_URL and TEST_NATS_URL. What is not reachable fails. Jest's own arguments may follow:
// npm run test:services -- rabbitmq; then on PostgreSQL only, or with TEST_DATABASE=mariadb on MariaDB only. With
// --standard it only says which servers answer at their standard addresses.
import './lib/node-version.mjs';
import { leaveCounts, leftCounts } from './lib/counts.mjs';
import { command } from './lib/lifecycle.mjs';
import { runJest } from './lib/jest.mjs';
import { prepare } from './lib/prepare.mjs';
import { SERVICES, unreachable, VARIABLES } from './lib/services.mjs';

await command(async () => {
  if (process.argv.includes('--standard')) return printStandard();
  await prepare(); // some tests start the built programs
  /** @type {Partial<Record<keyof typeof SERVICES, string>>} */
  const problems = {};
  for (const variable of VARIABLES) {
    problems[variable] = await unreachable(variable);
    console.log(`${SERVICES[variable].name}: ${problems[variable] ?? 'answers'}`);
  }
  const given = process.argv.slice(2);
  const args = ['--config=test/services/jest.config.mjs', ...given];
  const onMariaDb = () => runJest(args, { TEST_DATABASE: 'mariadb', TEST_DATABASE_URL: '' });
  if (process.env.TEST_DATABASE === 'mariadb') return onMariaDb();
  // Where a database does not answer, one test of the first run says so, and the brokers are tested all the same.
  const database = problems.TEST_POSTGRES_URL ? '' : process.env.TEST_POSTGRES_URL;
  const first = await runJest(args, { TEST_DATABASE_URL: database });
  if (given.length > 0 || problems.TEST_MARIADB_URL) return first;
  console.log('\nThe suites of the stores and deliveries once more, on MariaDB:\n');
  const before = leftCounts();
  const second = await onMariaDb();
  const after = leftCounts();
  leaveCounts({
    passed: before.passed + after.passed,
    failed: before.failed + after.failed,
    skipped: before.skipped + after.skipped,
    repeated: (before.repeated ?? 0) + (after.repeated ?? 0),
  });
  return first || second;
});

/** `export TEST_NATS_URL=…` for each that is not set and whose standard address answers. */
async function printStandard() {
  for (const variable of VARIABLES) {
    const { standard } = SERVICES[variable];
    if (!process.env[variable] && !(await unreachable(variable, standard))) {
      console.log(`export ${variable}=${standard}`);
    }
  }
  return 0;
}
