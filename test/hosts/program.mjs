import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeExit } from '../../scripts/lib/lifecycle.mjs';

const LIMIT_MS = 120_000;

/** Starts a program that is meant to stay, in a process group of its own, so that what it starts in turn ends with it. */
export function startProgram(
  /** @type {string} */ program,
  /** @type {string[]} */ args,
  /** @type {{ cwd: string, env: NodeJS.ProcessEnv }} */ options,
) {
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const signal = (/** @type {NodeJS.Signals} */ name) => {
    if (child.pid && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, name);
  };
  beforeExit(() => signal('SIGKILL'));
  return {
    output: () => `${program} ${args.join(' ')}:\n${output}`,

    /** Waits until it has printed something. */
    async says(/** @type {RegExp} */ pattern) {
      for (const end = Date.now() + LIMIT_MS; ; await sleep(50)) {
        const found = pattern.exec(output);
        if (found) return found;
        if (child.exitCode !== null || child.signalCode !== null || Date.now() > end) {
          throw new Error(`${program} ${args.join(' ')} did not say ${pattern}.`);
        }
      }
    },

    async stop() {
      signal('SIGTERM');
      const killer = setTimeout(() => signal('SIGKILL'), 10_000);
      await ended.finally(() => clearTimeout(killer));
    },
  };
}
