// npm test: every test that needs no outside service. Jest's own arguments may follow: npm test -- bills -t 'expires'.
import './lib/node-version.mjs';
import { run } from './lib/children.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';

await command(async () => {
  await prepare(); // some tests start the built programs
  process.env.NODE_ENV = 'test'; // whatever the shell says
  return run(process.execPath, [
    '--experimental-vm-modules', // Jest loads ES modules only so
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    ...process.argv.slice(2),
  ]);
});
