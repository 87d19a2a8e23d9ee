import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeExit, CommandError } from './lifecycle.mjs';
import { root } from './project.mjs';

/** @import { ChildProcess, StdioOptions } from 'node:child_process' */

/** @typedef {{ env?: NodeJS.ProcessEnv; stdio?: StdioOptions; cwd?: string }} Surroundings of a program */

/** @typedef {{ name: string; child: ChildProcess; ended: Promise<number> }} Started a program; `ended` gives its exit code */

const parentWatch = new URL('./parent-watch.mjs', import.meta.url).href;

/**
 * The environment for a child: it, and the node processes below it, end when their parent does.
 * @param {string} program
 * @param {NodeJS.ProcessEnv | undefined} env
 */
function childEnvironment(program, env) {
  const options = [process.env.NODE_OPTIONS, `--import ${parentWatch}`].filter(Boolean).join(' ');
  // Between us and another program's node there may be a shim, so only our own node is told who its parent is.
  const parent = program === process.execPath ? { PARENT_WATCH_PID: String(process.pid) } : {};
  return { ...process.env, ...env, ...parent, NODE_OPTIONS: options };
}

/**
 * Runs a program to its end. Gives its exit code; one that a signal ended gets 128 + the signal's number.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {Surroundings} [surroundings]
 */
export async function run(program, args, { env, stdio = 'inherit', cwd = root } = {}) {
  const child = spawn(program, args, { cwd, stdio, env: childEnvironment(program, env) });
  const ended = ending(child);
  beforeExit(() => stop({ child, ended }));
  return ended;
}

/**
 * Starts a node program that is meant to stay. It has a process group of its own, so that Ctrl-C reaches only us and
 * we choose the order in which things stop.
 * @param {string} name
 * @param {readonly string[]} args
 * @param {Surroundings} [surroundings]
 * @returns {Started}
 */
export function startNode(name, args, { env, stdio = ['ignore', 'inherit', 'inherit'], cwd = root } = {}) {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio,
    detached: true,
    env: childEnvironment(process.execPath, env),
  });
  const ended = ending(child);
  beforeExit(() => stop({ child, ended }));
  return { name, child, ended };
}

/**
 * Waits until something answers at `url`; fails when the child ends first, or the time is over.
 * @param {Pick<Started, 'name' | 'ended'>} program
 * @param {string} url
 */
export async function waitUntilAnswers({ name, ended }, url, seconds = 60) {
  /** @type {number | undefined} */
  let code;
  void ended.then((value) => (code = value));
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(100)) {
    if (code !== undefined) throw new CommandError(`The ${name} ended with code ${code} while starting.`, code || 1);
    if (await answers(url)) return;
  }
  throw new CommandError(`The ${name} did not answer at ${url} within ${seconds} s.`);
}

/** @param {string} url */
async function answers(url) {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {ChildProcess} child
 * @returns {Promise<number>}
 */
function ending(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

/**
 * Asks a program that was started to end, and makes it after ten seconds.
 * @param {Pick<Started, 'child' | 'ended'>} program
 */
export async function stop({ child, ended }) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended.finally(() => clearTimeout(timer));
}
