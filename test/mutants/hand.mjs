import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';
import { startTemporaryPostgres } from '../../scripts/lib/postgres.mjs';
import { dataFolder, root } from '../../scripts/lib/project.mjs';
import { report } from './hand-report.mjs';
import { runTests } from './tests.mjs';

/** @import { Selection, TestRun } from './tests.mjs' */

/** @typedef {Selection & { name: string; breaks: string; file: string; find: string; replace: string }} Mutant */
/** @typedef {{ ok: boolean; end: string; words?: string }} End of a mutant */
/** @typedef {End & { name: string; breaks: string; seconds: number }} Tried a mutant */
/** @typedef {(selection: Selection) => Promise<TestRun>} Run */

/**
 * Puts each hand-made fault of test/mutants/hand into a copy of the project, and runs the tests that should notice. Leaves
 * the table in `.data/mutants-hand.md`. `only`: parts of the names of those to try.
 * @param {{ folder: string }} copy
 * @param {{ only?: string[] }} [options]
 */
export async function runHand({ folder }, { only = [] } = {}) {
  const all = await load();
  const chosen = only.length === 0 ? all : all.filter(({ name }) => only.some((part) => name.includes(part)));
  if (chosen.length === 0) throw new CommandError(`No mutant has ${only.join(' or ')} in its name.`);
  const database = await startTemporaryPostgres();
  /** @type {Run} */
  const run = (selection) => runTests(folder, selection, database);

  const trouble = await troubleWithout(chosen, run);
  /** @type {Tried[]} */
  const rows = [];
  for (const [index, mutant] of chosen.entries()) {
    const began = performance.now();
    const end = flawOf(folder, mutant) ?? trouble.get(selectionOf(mutant)) ?? (await tryOut(folder, mutant, run));
    const row = { name: mutant.name, breaks: mutant.breaks, seconds: (performance.now() - began) / 1000, ...end };
    console.log(`${index + 1} of ${chosen.length}: ${row.name}: ${row.end} (${row.seconds.toFixed(0)} s)`);
    // Whoever adds a mutant looks whether it is noticed for its own reason.
    if (row.words && (!row.ok || only.length > 0)) console.log(row.words.replaceAll(/^/gm, '    '));
    rows.push(row);
  }
  const { text, counts } = report(rows);
  console.log(`\n${text}`);
  fs.mkdirSync(dataFolder, { recursive: true });
  fs.writeFileSync(path.join(dataFolder, 'mutants-hand.md'), text);
  return { rows, counts, ok: counts.failed === 0 };
}

/** @returns {Promise<Mutant[]>} */
async function load() {
  const home = path.join(root, 'test/mutants/hand');
  const files = fs.readdirSync(home).filter((name) => name.endsWith('.mjs'));
  const modules = await Promise.all(files.sort().map((name) => import(pathToFileURL(path.join(home, name)).href)));
  /** @type {Mutant[]} */
  const mutants = modules.flatMap(({ mutants: some }) => some);
  const twice = mutants.find(({ name }, index) => mutants.findIndex((one) => one.name === name) !== index);
  if (twice) throw new CommandError(`Two mutants are called ${twice.name}.`);
  return mutants;
}

/** @param {Selection} selection */
const selectionOf = ({ tests, pattern }) => JSON.stringify([tests, pattern]);

/**
 * A test that is red anyway notices nothing: how the mutants of a selection end that is not green without one.
 * @param {Mutant[]} mutants
 * @param {Run} run
 */
async function troubleWithout(mutants, run) {
  const selections = new Map(mutants.map((mutant) => [selectionOf(mutant), mutant]));
  console.log(`Without a mutant: ${selections.size} selections of tests.`);
  /** @type {Map<string, End>} */
  const trouble = new Map();
  for (const [key, { tests, pattern }] of selections) {
    const { end, words } = await run({ tests, pattern });
    if (end === 'green') continue;
    trouble.set(key, { ok: false, end: `NOT TRIED: without it ${pattern ?? tests.join(', ')} is ${end}`, words });
  }
  return trouble;
}

/**
 * @param {string} folder
 * @param {Mutant} mutant
 * @returns {End | undefined}
 */
function flawOf(folder, { file, find, replace }) {
  const source = path.join(folder, file);
  if (!fs.existsSync(source)) return { ok: false, end: `DOES NOT APPLY: there is no ${file}` };
  const times = fs.readFileSync(source, 'utf8').split(find).length - 1;
  if (times !== 1) return { ok: false, end: `DOES NOT APPLY: its text is ${times} times in ${file}, not once` };
  return find === replace ? { ok: false, end: 'DOES NOT APPLY: it changes nothing' } : undefined;
}

/**
 * @param {string} folder
 * @param {Mutant} mutant
 * @param {Run} run
 * @returns {Promise<End>}
 */
async function tryOut(folder, { file, find, replace, tests, pattern }, run) {
  const target = path.join(folder, file);
  const source = fs.readFileSync(target, 'utf8');
  fs.writeFileSync(
    target,
    source.replace(find, () => replace),
  );
  const { end, by, words } = await run({ tests, pattern });
  fs.writeFileSync(target, source);
  if (end === 'red') return { ok: true, end: `killed by “${by}”`, words };
  if (end === 'timed out') return { ok: true, end: `killed by time-out: ${words}` };
  if (end === 'green') return { ok: false, end: 'SURVIVED' };
  return { ok: false, end: end === 'broken' ? 'BROKEN: no fault of meaning' : 'NOTHING RAN', words };
}
