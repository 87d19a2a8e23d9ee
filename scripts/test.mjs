// npm test: every test that needs no outside service. Jest's own arguments may follow: npm test -- bills -t 'expires'.
import './lib/node-version.mjs';
import { runJest } from './lib/jest.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';

await command(async () => {
  await prepare(); // some tests start the built programs
  return runJest(process.argv.slice(2));
});
