import { run } from './children.mjs';

/** Runs Jest to its end with arguments of its own; gives its exit code. */
export function runJest(args, env = {}) {
  return run(
    process.execPath,
    [
      '--experimental-vm-modules', // Jest loads ES modules only so
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...args,
    ],
    { env: { NODE_ENV: 'test', ...env } }, // whatever the shell says
  );
}
