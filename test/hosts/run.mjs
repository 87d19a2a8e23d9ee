import { spawn } from 'node:child_process';
import { beforeExit } from '../../scripts/lib/lifecycle.mjs';

const LIMIT_MS = 240_000;

/** A program that failed, with all that it printed. */
export class RunError extends Error {
  constructor(/** @type {string} */ message, /** @type {string} */ output) {
    super(message);
    this.output = output;
  }
}

/**
 * Runs a program to its end and gives what it printed; fails with a {@link RunError} unless it exits with 0 in time.
 *
 * @returns {Promise<string>}
 */
export function run(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {{ cwd: string, env: NodeJS.ProcessEnv }} */ options,
) {
  return new Promise((resolve, reject) => {
    // A group of its own, so that what it starts in turn ends with it.
    const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const end = () => {
      if (child.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    };
    const timer = setTimeout(end, LIMIT_MS);
    beforeExit(end);
    let [out, all] = ['', ''];
    child.stdout.on('data', (chunk) => ((out += chunk), (all += chunk)));
    child.stderr.on('data', (chunk) => (all += chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(out);
      else reject(new RunError(`${program} ${args.join(' ')}: ended with ${code ?? signal}`, all));
    });
  });
}
