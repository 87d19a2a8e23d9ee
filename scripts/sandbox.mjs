#!/usr/bin/env node
// npm run sandbox: the sandbox of the payment acceptance service alone. Its options are those of the published program:
// npm run sandbox -- --help.
import './lib/node-version.mjs';
import { run } from './lib/children.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';

await command(
  async () => {
    await prepare();
    return run(process.execPath, ['dist/apps/sandbox/main.js', ...process.argv.slice(2)]);
  },
  { signalCode: 0 },
);
