// npm run test:chaos: everything that tries to lose or double a payment; see docs/chaos.md.
import './lib/node-version.mjs';
import { readArguments, usage } from '../test/chaos/arguments.mjs';
import { runPhases } from '../test/chaos/phases.mjs';
import { command } from './lib/lifecycle.mjs';
import { prepare } from './lib/prepare.mjs';
import { argumentsOf } from './lib/usage.mjs';

process.env.NODE_ENV = 'development'; // with the sandbox it is nothing else, whatever the shell says

argumentsOf(usage, () => true); // which they are is read below

await command(async () => {
  const options = readArguments(process.argv.slice(2));
  console.log(`Seed ${options.seed}: ${options.phases.join(', ')}.`);
  await prepare();
  return runPhases(options);
});
