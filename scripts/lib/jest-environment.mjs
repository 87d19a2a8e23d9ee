import fs from 'node:fs';
import path from 'node:path';
import { TestEnvironment } from 'jest-environment-node';
import { root } from './project.mjs';

/**
 * Node's, and it notes in the file TEST_TIMES how long the tests and hooks of each file of tests have taken: several of
 * them may be loaded as one (test-groups.mjs), so that Jest cannot tell. A run that is cut off says in which test.
 */
export default class TimingEnvironment extends TestEnvironment {
  times = new Map();
  started = 0;
  current = 'nothing';

  async setup() {
    await super.setup();
    this.onCutOff = () => {
      fs.writeSync(2, `Cut off in: ${this.current}\n`);
      process.exit(143);
    };
    process.once('SIGTERM', this.onCutOff);
  }

  handleTestEvent({ name, test, hook }) {
    if (name === 'test_start' || name === 'test_fn_start') this.current = [test.parent.name, test.name].join(' › ');
    if (name === 'hook_start') this.current = `${hook.type} of ${hook.parent.name}, after ${this.current}`;
    if (!process.env.TEST_TIMES) return; // a stack is written when it is first read, which takes time
    if (name === 'hook_start' || name === 'test_fn_start') this.started = performance.now();
    const ended = { hook_success: hook, hook_failure: hook, test_fn_success: test, test_fn_failure: test }[name];
    const file = ended && fileOf(ended.asyncError);
    if (file) this.times.set(file, (this.times.get(file) ?? 0) + performance.now() - this.started);
  }

  async teardown() {
    process.off('SIGTERM', this.onCutOff);
    this.current = 'the end of a file';
    const lines = Array.from(this.times, ([file, ms]) => `${JSON.stringify({ file, ms: Math.round(ms) })}\n`);
    if (lines.length > 0) fs.appendFileSync(process.env.TEST_TIMES, lines.join(''));
    await super.teardown();
  }
}

/** Where it was written, as its definition's stack tells. */
function fileOf(asyncError) {
  const [, file] = /(?:\(|at |file:\/\/)(\/[^():]+\.spec\.ts)/.exec(asyncError?.stack ?? '') ?? [];
  return file && path.relative(root, file);
}
