import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNode } from '../../scripts/lib/children.mjs';
import { jestProgram } from '../../scripts/lib/jest.mjs';

/** @typedef {{ tests: string[]; pattern?: string }} Selection of tests: files, and the names in them */
/** @typedef {{ end: string; by?: string; words?: string }} TestRun */

/** A file takes some ten seconds; what takes this long does not end by itself. */
const LIMIT_SECONDS = 120;

/**
 * Runs Jest in a copy of the project: on spec files, or on those tests of them that a pattern names. Gives how it ended:
 * `green`, `red` with the failure, `timed out`, `broken` where a file did not load, the database did not understand a
 * statement or Jest itself fell over, or `nothing ran`.
 * @param {string} folder
 * @param {Selection} selection
 * @param {{ url: string; log: string }} database
 * @returns {Promise<TestRun>}
 */
export async function runTests(folder, { tests, pattern }, database) {
  const own = path.join(folder, '.data');
  fs.mkdirSync(own, { recursive: true });
  const results = path.join(own, 'jest.json');
  const output = path.join(own, 'jest.log');
  fs.rmSync(results, { force: true });
  const log = fs.openSync(output, 'w');
  const { size } = fs.statSync(database.log);
  const { child, ended } = startNode(
    'tests',
    [
      ...jestProgram,
      ...tests,
      '--runTestsByPath',
      '--runInBand',
      '--bail=1',
      '--forceExit', // a fault may leave anything behind
      '--json',
      `--outputFile=${results}`,
      `--cacheDirectory=${path.join(own, 'jest')}`,
      ...(pattern ? ['-t', pattern] : []),
    ],
    {
      cwd: folder,
      env: { NODE_ENV: 'test', TEST_DATABASE: '', TEST_DATABASE_URL: database.url, TEST_COUNTS: '' },
      stdio: ['ignore', log, log],
    },
  );
  fs.closeSync(log);
  const over = new AbortController();
  const code = await Promise.race([ended, sleep(LIMIT_SECONDS * 1000, undefined, { signal: over.signal })]);
  over.abort();
  if (code === undefined) {
    process.kill(-Number(child.pid), 'SIGKILL'); // with whatever a test has started
    await ended;
    return { end: 'timed out', words: `not ended after ${LIMIT_SECONDS} s` };
  }
  if (!fs.existsSync(results)) return { end: 'broken', words: `Jest ended with code ${code}:\n${tail(output)}` };
  const misunderstood = /^.*(syntax error at|could not determine data type).*$/m.exec(
    fs.readFileSync(database.log).subarray(size).toString(),
  );
  if (misunderstood) return { end: 'broken', words: misunderstood[0] };
  return read(JSON.parse(fs.readFileSync(results, 'utf8')));
}

/**
 * @param {import('@jest/test-result').FormattedTestResults} results
 * @returns {TestRun}
 */
function read({ testResults, numPassedTests, numFailedTests }) {
  const unloaded = testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (unloaded) return { end: 'broken', words: unloaded.message };
  if (numPassedTests + numFailedTests === 0) return { end: 'nothing ran' };
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed'),
  );
  const [first] = failures;
  if (!first) return { end: 'green' };
  const words = (first.failureMessages ?? []).join('\n').split('\n').slice(0, 20).join('\n');
  return { end: 'red', by: first.fullName, words };
}

/** @param {string} file */
function tail(file) {
  return fs.readFileSync(file, 'utf8').slice(-2_000);
}
