import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startNode } from '../../scripts/lib/children.mjs';
import { CommandError } from '../../scripts/lib/lifecycle.mjs';

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {Record<string, any>} about what it gave to `ready`
 * @property {number | undefined} pid
 * @property {(question: string, argument?: unknown) => Promise<any>} ask
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a measured process: a file in bench/contestants, which calls `ready()` of contestant.mjs. With `BENCH_PROFILE`
 * set to a folder each process leaves a CPU profile there. `env`: further environment variables of the process.
 * @param {string} file
 * @param {object} [options]
 * @param {{ nodeOptions?: string[]; env?: NodeJS.ProcessEnv }} [how]
 * @returns {Promise<Contestant>}
 */
export async function startContestant(file, options = {}, { nodeOptions = [], env = {} } = {}) {
  const program = fileURLToPath(new URL(`../contestants/${file}`, import.meta.url));
  return startProcess(file, program, { ...env, BENCH_OPTIONS: JSON.stringify(options) }, nodeOptions);
}

/**
 * The same for a helper of ours, such as the load generator.
 * @param {string} name
 * @param {string} program
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} [nodeOptions]
 * @returns {Promise<Contestant>}
 */
export async function startProcess(name, program, env, nodeOptions = []) {
  const profile = process.env.BENCH_PROFILE;
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}/${name}`, ...nodeOptions] : nodeOptions;
  const { child, ended } = startNode(name, [...flags, program], {
    // As in production: that is what is measured.
    env: { NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  /** @type {Map<number, { resolve(answer: any): void; reject(error: Error): void }>} */
  const questions = new Map();
  let count = 0;
  const failed = ended.then((code) => {
    const error = new CommandError(`The measured process ${name} ended with code ${code}.`);
    for (const { reject } of questions.values()) reject(error);
    questions.clear();
    throw error;
  });
  failed.catch(() => {});
  /** @param {{ id: number; answer?: unknown; error?: string }} message */
  const take = ({ id, answer, error }) => {
    const question = questions.get(id);
    questions.delete(id);
    if (error) question?.reject(new CommandError(`${name}: ${error}`));
    else question?.resolve(answer);
  };
  child.on('message', take);
  const [{ ready }] = await Promise.race([once(child, 'message'), failed]);
  return {
    name,
    about: ready,
    pid: child.pid,
    ask: (question, argument) =>
      new Promise((resolve, reject) => {
        questions.set(++count, { resolve, reject });
        child.send({ id: count, question, argument }, (error) => error && reject(error));
      }),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
