// npm run test:full: every test that needs no outside service, on both HTTP adapters. With --rest only what `npm test`
// leaves out of it.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { runAllTests } from './lib/test-run.mjs';
import { argumentsOf } from './lib/usage.mjs';

const [rest] = argumentsOf(
  'npm run test:full [-- --rest]\n\nEvery test that needs no outside service. With --rest only what "npm test" leaves out of it.',
  (argument) => argument === '--rest',
);

await command(async () => {
  await prepare(); // some tests start the built programs
  return runAllTests({ rest: rest !== undefined });
});
