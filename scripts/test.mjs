// npm test: everything that tells whether a change is right; docs/testing-this-project.md says what that is. Patterns of
// files and Jest's own options may follow: npm test -- bills -t 'expires', npm test -- --watch.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { runTests } from './lib/test-run.mjs';

await command(async () => {
  await prepare(); // some tests start the built programs
  return runTests(process.argv.slice(2));
});
