// npm run test:full: every test that needs no outside service, on both HTTP adapters. With --rest only those that
// `npm test` leaves out. Jest's own options may follow.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { readArguments, runAllTests } from './lib/test-run.mjs';

await command(async () => {
  const { patterns, options } = readArguments(process.argv.slice(2));
  if (patterns.length > 0) {
    console.error(
      `test:full runs all files; for those that match ${patterns.join(' ')}: npm test -- ${patterns.join(' ')}`,
    );
    return 1;
  }
  await prepare();
  const rest = options.includes('--rest');
  return runAllTests(options.filter((option) => option !== '--rest'), { rest }); // prettier-ignore
});
