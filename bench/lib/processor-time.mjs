import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { query } from './database.mjs';

/** Whether the system tells what each process takes. */
export const canTell = fs.existsSync('/proc/self/stat');

const ticksPerSecond = canTell ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN;

/**
 * Seconds of processor time that a process has taken so far; 0 if it has ended.
 * @param {number | undefined} pid
 */
export function secondsOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  } catch {
    return 0;
  }
}

/**
 * Seconds of each process of PostgreSQL that works for a database: its backends, and what all databases of the server share.
 * @param {string} url
 * @returns {Promise<Map<number, number>>}
 */
export async function databaseSeconds(url) {
  const rows = await query(
    url,
    `SELECT pid FROM pg_stat_activity WHERE (datname = current_database() OR datname IS NULL) AND pid <> pg_backend_pid()`,
  );
  return new Map(rows.map(({ pid }) => [pid, secondsOf(pid)]));
}

/**
 * @param {Map<number, number>} after
 * @param {Map<number, number>} before
 */
export const secondsBetween = (after, before) =>
  [...after].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0);
