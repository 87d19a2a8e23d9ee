// npm run test:mutants: puts faults into a copy of the code, one at a time, and sees whether a test turns red; see
// docs/testing-this-project.md.
import './lib/node-version.mjs';
import { parseArgs } from 'node:util';
import { leaveCounts } from './lib/counts.mjs';
import { messageOf } from './lib/errors.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { command, CommandError } from './lib/lifecycle.mjs';
import { copyOfProject } from '../test/mutants/copy.mjs';
import { runHand } from '../test/mutants/hand.mjs';
import { runPure } from '../test/mutants/pure.mjs';
import { argumentsOf } from './lib/usage.mjs';

/** @import { Counts } from './lib/counts.mjs' */

/**
 * The kinds of mutants. Each tells what it finds, and gives `ok`, and `counts` unless it is to count as one test.
 * @type {Record<'hand' | 'pure', (copy: { folder: string }, options: { only?: string[] }) => Promise<{ ok: boolean; counts?: Counts }>>}
 */
const kinds = { hand: runHand, pure: runPure };

const usage = `npm run test:mutants [-- …]
  without any of the following, all mutants
  --hand        those made by hand: test/mutants/hand
  --pure        those that StrykerJS makes of pure code: test/mutants/pure-files.mjs
  --only PART   of these those with PART in their name; may be repeated`;

argumentsOf(usage, () => true); // which they are is read below

await command(async () => {
  const { only, chosen } = readArguments();
  await ensureInstalled();
  const copy = await copyOfProject();
  const sum = { passed: 0, failed: 0, skipped: 0 };
  let allOk = true;
  for (const kind of chosen) {
    const { ok, counts = { passed: Number(ok), failed: Number(!ok), skipped: 0 } } = await kinds[kind](copy, { only });
    sum.passed += counts.passed;
    sum.failed += counts.failed;
    sum.skipped += counts.skipped;
    allOk &&= ok;
  }
  leaveCounts(sum);
  return allOk ? 0 : 1;
});

function readArguments() {
  try {
    const { only, ...named } = parseArgs({
      options: { hand: { type: 'boolean' }, pure: { type: 'boolean' }, only: { type: 'string', multiple: true } },
    }).values;
    const some = /** @type {(keyof typeof kinds)[]} */ (only ? ['hand'] : Object.keys(named));
    return { only, chosen: some.length > 0 ? some : /** @type {(keyof typeof kinds)[]} */ (Object.keys(kinds)) };
  } catch (error) {
    throw new CommandError(`${messageOf(error)}\nUsage: ${usage}`);
  }
}
