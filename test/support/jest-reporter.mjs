import fs from 'node:fs';
import { leaveCounts } from '../../scripts/lib/counts.mjs';

/** @import { AggregatedResult } from '@jest/test-result' */

/**
 * Tells what was skipped, what ran when it was cut off, and, where TEST_TIMES names a file, what took long; insists that something ran, and leaves the
 * counts in the file TEST_COUNTS for a caller.
 */
export default class CountingReporter {
  /** @param {{ testNamePattern?: string }} config */
  constructor(config) {
    /** @type {Error | undefined} */
    this.error = undefined;
    this.filtered = Boolean(config.testNamePattern);
    this.isCutOff = false;
    /** @type {Set<string>} */
    this.running = new Set();
    process.once('SIGTERM', () => this.endEarly());
  }

  /** @param {{ path: string }} test */
  onTestFileStart({ path: file }) {
    this.running.add(file);
  }

  /** @param {{ path: string }} test */
  onTestFileResult({ path: file }) {
    this.running.delete(file);
  }

  /** A run that is cut off says at what; the tests' environments name the test. */
  endEarly() {
    this.isCutOff = true;
    console.error(`\nCut off while these files ran:\n${[...this.running].map((file) => `  ${file}`).join('\n')}`);
    setTimeout(() => process.exit(143), 1_000);
  }

  /**
   * @param {unknown} _contexts
   * @param {AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    const skipped = results.testResults.flatMap((file) => file.testResults.filter(isSkipped));
    // With -t, what does not match is "skipped" too: nobody wants that list.
    if (skipped.length > 0 && !this.filtered) {
      // Jest has no place for a reason, so the name gives it.
      console.log(`\nSkipped, with the reason in the name:\n${skipped.map((test) => `  ${test.fullName}`).join('\n')}`);
    }
    const repeated = results.testResults.flatMap((file) => file.testResults.filter(isRepeated));
    for (const test of repeated) {
      console.log(`\nPassed only when it ran again: ${test.fullName}\n${test.retryReasons?.join('\n') ?? ''}`);
    }
    const counts = {
      passed: results.numPassedTests,
      // A file that does not load holds tests that nobody counted; one whose process is stopped with the whole run has not failed.
      failed: results.numFailedTests + (this.isCutOff ? 0 : results.numRuntimeErrorTestSuites),
      skipped: results.numPendingTests + results.numTodoTests,
      repeated: repeated.length,
    };
    if (process.env.TEST_TIMES) printSlowest(process.env.TEST_TIMES);
    if (counts.passed + counts.failed === 0) this.error = new Error('No test ran.');
    if (this.error) console.error(this.error.message); // Jest only takes its exit code from it
    leaveCounts(counts);
  }

  getLastError() {
    return this.error;
  }
}

/**
 * The ten files of tests that took the longest, as jest-environment.mjs has noted them.
 * @param {string} timesFile
 */
function printSlowest(timesFile) {
  if (!fs.existsSync(timesFile)) return;
  const noted = fs.readFileSync(timesFile, 'utf8').trim().split('\n');
  /** @type {{ file: string; ms: number }[]} */
  const times = noted.map((line) => JSON.parse(line));
  const slowest = times.sort((one, other) => other.ms - one.ms).slice(0, 10);
  const lines = slowest.map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
  console.log(`\nThe slowest files, without loading:\n${lines.join('\n')}`);
}

/** @param {{ status: string }} test */
function isSkipped({ status }) {
  return status === 'pending' || status === 'skipped' || status === 'todo' || status === 'disabled';
}

/** @param {{ status: string; invocations?: number }} test */
function isRepeated({ status, invocations = 1 }) {
  return status === 'passed' && invocations > 1;
}
