import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { processInfo } from '../process-info.mjs';

/**
 * Kills a process and all below it. Stopped first, so that it starts no process that the list lacks. Resolves when none
 * is left: only then is its data free.
 */
export async function killAll(pid) {
  process.kill(pid, 'SIGSTOP');
  const all = [...descendantsOf(pid), pid].map((each) => ({ pid: each, started: processInfo(each)?.started }));
  for (const each of all) {
    try {
      process.kill(each.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
  const runs = (each) => each.started !== undefined && processInfo(each.pid)?.started === each.started;
  while (all.some(runs)) await sleep(10);
}

/** The process ids below this one. */
export function descendantsOf(pid) {
  const parents = parentOfEach();
  const below = (parent) =>
    [...parents].filter(([, its]) => its === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

function parentOfEach() {
  if (fs.existsSync('/proc/self/stat')) {
    const pids = fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
    return new Map(pids.map((pid) => [pid, processInfo(pid)?.ppid]));
  }
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number)),
  );
}
