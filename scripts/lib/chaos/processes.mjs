import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { processInfo } from '../process-info.mjs';

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
