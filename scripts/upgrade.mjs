// npm run test:upgrade: the previous release and the present code on one database, under load; see docs/upgrading.md.
import './lib/node-version.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { readArguments, usage } from '../test/upgrade/arguments.mjs';
import { makePreviousRelease } from '../test/upgrade/release.mjs';
import { runUpgrade } from '../test/upgrade/run.mjs';
import { argumentsOf } from './lib/usage.mjs';

process.env.NODE_ENV = 'development'; // with the sandbox it is nothing else, whatever the shell says

argumentsOf(usage, () => true); // which they are is read below

await command(async () => {
  const options = readArguments(process.argv.slice(2));
  await prepare();
  return runUpgrade(await makePreviousRelease(options.previous), options);
});
