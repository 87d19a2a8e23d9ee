import fs from 'node:fs';
import path from 'node:path';
import { startNode } from '../children.mjs';
import { jestProgram } from '../jest.mjs';

/** A file takes some ten seconds; what takes this long does not end by itself. */
const LIMIT_SECONDS = 120;

/**
 * Runs Jest in a copy of the project: on spec files, or on those tests of them that a pattern names. Gives how it ended:
 * `green`, `red` with the failure, `timed out`, `broken` where a file did not load, the database did not understand a
 * statement or Jest itself fell over, or `nothing ran`.
 */
export async function runTests(folder, { tests, pattern }, database) {
  const own = path.join(folder, '.data');
  fs.mkdirSync(own, { recursive: true });
  const [results, output] = ['jest.json', 'jest.log'].map((name) => path.join(own, name));
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
  let timer;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, LIMIT_SECONDS * 1000)));
  const code = await Promise.race([ended, limit]);
  clearTimeout(timer);
  if (code === undefined) {
    process.kill(-child.pid, 'SIGKILL'); // with whatever a test has started
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

function read({ testResults, numPassedTests, numFailedTests }) {
  const unloaded = testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (unloaded) return { end: 'broken', words: unloaded.message };
  if (numPassedTests + numFailedTests === 0) return { end: 'nothing ran' };
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed'),
  );
  if (failures.length === 0) return { end: 'green' };
  const [{ fullName: by, failureMessages }] = failures;
  const words = failureMessages.join('\n').split('\n').slice(0, 20).join('\n');
  return { end: 'red', by, words };
}

function tail(file) {
  return fs.readFileSync(file, 'utf8').slice(-2_000);
}
