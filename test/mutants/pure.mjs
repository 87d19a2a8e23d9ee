import fs from 'node:fs';
import path from 'node:path';
import { SURVIVORS } from './survivors.mjs';
import { run } from '../../scripts/lib/children.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { compareSurvivors, readReport, rowOf, tableOf } from './pure-report.mjs';

const LEAST_SCORE = 90;
const PROGRAM = 'node_modules/@stryker-mutator/core/bin/stryker.js';
const CONFIG = 'test/mutants/stryker.config.mjs';
const REPORT = 'reports/mutation.json';

/**
 * The seed of the properties stands in their names, by which StrykerJS finds the tests of a mutant again. Always the same
 * one, so that the same mutants survive.
 */
const SEED = process.env.TEST_SEED ?? '1';

/**
 * Lets StrykerJS break the pure code of the library in every way it knows, and tells which breaks its unit tests do not
 * notice. Fails below the least score, and where the survivors are not exactly those of test/mutants/survivors.mjs.
 * @param {{ folder: string }} copy
 */
export async function runPure({ folder }) {
  console.log(`Mutants of pure code, by StrykerJS (TEST_SEED=${SEED}):`);
  // In a zone of its own: in UTC nobody sees a time that is read as a local one.
  const env = { NODE_ENV: 'test', TEST_SEED: SEED, TZ: 'America/Caracas' };
  const code = await run(process.execPath, [PROGRAM, 'run', CONFIG], { cwd: folder, env });
  if (code !== 0) throw new CommandError(`StrykerJS ended with code ${code}.`);

  const mutants = readReport(JSON.parse(fs.readFileSync(path.join(folder, REPORT), 'utf8')));
  const files = [...new Set(mutants.map(({ file }) => file))];
  const rows = files.map((name) =>
    rowOf(
      name,
      mutants.filter(({ file }) => file === name),
    ),
  );
  const total = rowOf('all', mutants);
  console.log(`\n${tableOf([...rows, total])}`);

  const { accepted, unknown, gone } = compareSurvivors(mutants, SURVIVORS);
  tell('Survivors, with the reason:', accepted);
  tell('Survivors without a reason: write a test, or list them in test/mutants/survivors.mjs:', unknown);
  tell('Listed in test/mutants/survivors.mjs, but no longer there: take them out:', gone);
  const enough = total.score >= LEAST_SCORE;
  if (!enough) console.log(`\nFewer than ${LEAST_SCORE} % of the mutants were noticed.`);
  return { rows, ok: enough && unknown.length === 0 && gone.length === 0 };
}

/**
 * @param {string} title
 * @param {import('./pure-report.mjs').Survivor[]} survivors
 */
function tell(title, survivors) {
  if (survivors.length === 0) return;
  console.log(`\n${title}`);
  for (const { file, code, mutant, reason } of survivors) {
    console.log(`\n  ${file}\n  - ${code}\n  + ${mutant}${reason ? `\n  ${reason}` : ''}`);
  }
}
