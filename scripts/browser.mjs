// npm run test:browser: the pages in a real Chromium. Jest's own arguments may follow: npm run test:browser -- console.
// Screenshots of every page are in .data/screenshots.
import './lib/node-version.mjs';
import fs from 'node:fs';
import { run } from './lib/children.mjs';
import { command, CommandError } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';

await command(async () => {
  const chromium = process.env.CHROMIUM_PATH || '/usr/bin/chromium';
  if (!isExecutable(chromium)) {
    throw new CommandError(
      `There is no Chromium at ${chromium}. Install it (Debian: apt-get install -y chromium), ` +
        'or set CHROMIUM_PATH to the one that you have.',
    );
  }
  await prepare(); // the shop is run as it is built
  process.env.NODE_ENV = 'test'; // whatever the shell says
  return run(process.execPath, [
    '--experimental-vm-modules', // Jest loads ES modules only so
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    '--config=test/browser/jest.config.mjs',
    ...process.argv.slice(2),
  ]);
});

/** @param {string} file */
function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
