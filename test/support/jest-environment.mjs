import fs from 'node:fs';
import path from 'node:path';
import { TestEnvironment } from 'jest-environment-node';
import { root } from '../../scripts/lib/project.mjs';

/** @import { Circus } from '@jest/types' */

/**
 * Node's, and it notes in the file TEST_TIMES how long the tests and hooks of each file of tests have taken: several of
 * them may be loaded as one (test-groups.mjs), so that Jest cannot tell. A run that is cut off says in which test.
 */
export default class TimingEnvironment extends TestEnvironment {
  /** @type {Map<string, number>} */
  times = new Map();
  started = 0;
  current = 'nothing';

  /** @override */
  async setup() {
    await super.setup();
    process.once('SIGTERM', this.onCutOff);
  }

  onCutOff = () => {
    fs.writeSync(2, `Cut off in: ${this.current}\n`);
    process.exit(143);
  };

  /** @param {Circus.Event} event */
  handleTestEvent(event) {
    if (event.name === 'test_start' || event.name === 'test_fn_start') {
      this.current = [event.test.parent.name, event.test.name].join(' › ');
    } else if (event.name === 'hook_start') {
      this.current = `${event.hook.type} of ${event.hook.parent.name}, after ${this.current}`;
    }
    if (!process.env.TEST_TIMES) return; // a stack is written when it is first read, which takes time
    if (event.name === 'hook_start' || event.name === 'test_fn_start') this.started = performance.now();
    const file = fileOf(endedBy(event)?.asyncError);
    if (file) this.times.set(file, (this.times.get(file) ?? 0) + performance.now() - this.started);
  }

  /** @override */
  async teardown() {
    process.off('SIGTERM', this.onCutOff);
    this.current = 'the end of a file';
    const lines = Array.from(this.times, ([file, ms]) => `${JSON.stringify({ file, ms: Math.round(ms) })}\n`);
    if (process.env.TEST_TIMES && lines.length > 0) fs.appendFileSync(process.env.TEST_TIMES, lines.join(''));
    await super.teardown();
  }
}

/**
 * The test or hook that has ended, if one has.
 * @param {Circus.Event} event
 */
function endedBy(event) {
  switch (event.name) {
    case 'hook_success':
    case 'hook_failure':
      return event.hook;
    case 'test_fn_success':
    case 'test_fn_failure':
      return event.test;
    default:
      return undefined;
  }
}

/**
 * Where it was written, as its definition's stack tells.
 * @param {{ stack?: string } | undefined} asyncError
 */
function fileOf(asyncError) {
  const [, file] = /(?:\(|at |file:\/\/)(\/[^():]+\.spec\.ts)/.exec(asyncError?.stack ?? '') ?? [];
  return file && path.relative(root, file);
}
