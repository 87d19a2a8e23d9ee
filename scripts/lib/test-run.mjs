import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runJest } from './jest.mjs';
import { beforeExit } from './lifecycle.mjs';
import { hasWholeForm, isLoadedAlone, isOfTheRest, runsOnOneAdapter, testFiles } from './test-files.mjs';
import { groupsFolder, writeGroups } from './test-groups.mjs';

/** Options of Jest's whose value is an argument of its own. */
const WITH_VALUE = new Set([
  ...['-t', '--testNamePattern', '-w', '--maxWorkers', '--seed', '--testTimeout', '--outputFile', '--shard'],
  ...['--reporters', '--coverageDirectory'],
]);
/** With these Jest chooses the files itself. */
const CHOOSES = /^(--watch|--watchAll|--listTests|--onlyChanged|-o|--findRelatedTests|--runTestsByPath|--help|-h)$/;
/** From this many files on, loading their modules once for all of them is worth a file more. */
const FEW = 3;

/**
 * Jest's arguments, told apart: patterns of files, and the options.
 * @param {readonly string[]} args
 */
function readArguments(args) {
  const patterns = [];
  const options = [];
  const left = args.values();
  for (const argument of left) {
    if (!argument.startsWith('-')) patterns.push(argument);
    else if (WITH_VALUE.has(argument)) options.push(argument, left.next().value ?? '');
    else options.push(argument);
  }
  return { patterns, options };
}

/**
 * Runs what `npm test` runs: all that tells whether a change is right, or the files that match the patterns given.
 * @param {readonly string[]} args
 */
export async function runTests(args) {
  if (args.some((argument) => CHOOSES.test(argument))) return runJest(args);
  const { patterns, options } = readArguments(args);
  const all = testFiles();
  /** @param {string} file */
  const matches = (file) => patterns.some((pattern) => new RegExp(pattern, 'i').test(file));
  const chosen = all.filter(patterns.length > 0 ? matches : (file) => !isOfTheRest(file));
  if (chosen.length === 0) {
    console.error(`No file of tests matches ${patterns.join(' or ')}.`);
    return 1;
  }
  return runFiles(chosen, options);
}

/**
 * Runs every test that needs no service, on each adapter and in its whole form unless `TEST_FORM` is `short`. With `rest`
 * only what `npm test` has left out.
 * @param {{ rest: boolean }} options
 */
export async function runAllTests({ rest }) {
  const form = process.env.TEST_FORM ?? 'whole';
  /** @param {string} file */
  const isLeftOut = (file) => isOfTheRest(file) || runsOnOneAdapter(file) || (form === 'whole' && hasWholeForm(file));
  const all = testFiles();
  const files = rest ? all.filter(isLeftOut) : all;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'test-times-'));
  beforeExit(() => fs.rmSync(folder, { recursive: true, force: true }));
  const env = { TEST_ADAPTERS: rest ? 'rest' : 'all', TEST_FORM: form, TEST_TIMES: path.join(folder, 'times') };
  return runFiles(files, [], env);
}

/**
 * @param {readonly string[]} files
 * @param {readonly string[]} options
 * @param {NodeJS.ProcessEnv} [env]
 */
function runFiles(files, options, env) {
  const together = files.length > FEW ? files.filter((file) => !isLoadedAlone(file)) : [];
  const alone = files.filter((file) => !together.includes(file));
  const roots = ['libs', 'apps', 'test', groupsFolder];
  const paths = [...alone, ...writeGroups(together)];
  return runJest([...roots.map((root) => `--roots=${root}`), ...options, '--runTestsByPath', ...paths], env);
}
