import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../scripts/lib/errors.mjs';
import { processInfo } from '../../scripts/lib/process-info.mjs';

/**
 * Kills a process and all below it. Stopped first, so that it starts no process that the list lacks. Resolves when none
 * is left: only then is its data free.
 * @param {number} pid
 */
export async function killAll(pid) {
  process.kill(pid, 'SIGSTOP');
  const all = [...descendantsOf(pid), pid].map((each) => ({ pid: each, started: processInfo(each)?.started }));
  for (const each of all) {
    try {
      process.kill(each.pid, 'SIGKILL');
    } catch (error) {
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  }
  /** @param {{ pid: number; started: string | undefined }} each */
  const runs = (each) => each.started !== undefined && processInfo(each.pid)?.started === each.started;
  while (all.some(runs)) await sleep(10);
}

/**
 * The process ids below this one.
 * @param {number} pid
 */
export function descendantsOf(pid) {
  const parents = parentOfEach();
  /** @type {(parent: number) => number[]} */
  const below = (parent) =>
    [...parents].filter(([, its]) => its === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

/** @returns {Map<number, number | undefined>} */
function parentOfEach() {
  if (fs.existsSync('/proc/self/stat')) {
    const pids = fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
    return new Map(pids.map((pid) => [pid, processInfo(pid)?.ppid]));
  }
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return new Map([...stdout.matchAll(/(\d+)\s+(\d+)/g)].map(([, pid, parent]) => [Number(pid), Number(parent)]));
}
