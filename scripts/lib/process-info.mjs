import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** @typedef {{ ppid: number; command: string; started: string | undefined }} ProcessInfo */

/**
 * What runs under this process id, or undefined where nothing does.
 * A process id alone proves nothing, because the system uses it again; with `started` it names one process.
 * @param {number} pid
 * @returns {ProcessInfo | undefined}
 */
export function processInfo(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return fs.existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid);
}

/** @param {number} pid */
function fromProc(pid) {
  try {
    // The second field is the program's name in brackets and may hold anything: count from the last bracket.
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return undefined;
    const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    return { ppid: Number(fields[1]), command, started: fields[19] };
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function fromPs(pid) {
  const { status, stdout } = spawnSync('ps', ['-o', 'ppid=,lstart=,command=', '-p', String(pid)], { encoding: 'utf8' });
  const [, ppid, started, command = ''] =
    (status === 0 && /^\s*(\d+)\s+(\w+ \w+ +\d+ [\d:]+ \d+)\s+(.*)$/m.exec(stdout)) || [];
  return started === undefined ? undefined : { ppid: Number(ppid), started, command };
}
