import { run } from './children.mjs';

/** Node's arguments that start Jest, in the project's folder or in a copy of it. Jest's own follow. */
export const jestProgram = [
  '--experimental-vm-modules', // Jest loads ES modules only so
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];

/**
 * Runs Jest to its end with arguments of its own; gives its exit code.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function runJest(args, env = {}) {
  return run(process.execPath, [...jestProgram, ...args], { env: { NODE_ENV: 'test', ...env } }); // whatever the shell says
}
