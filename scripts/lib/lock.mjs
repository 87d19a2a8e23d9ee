import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.mjs';
import { processInfo } from './process-info.mjs';

/**
 * Runs `work` while no other process holds the lock `file`.
 * The lock is a symbolic link whose target names the holder, because making one is atomic and carries its text:
 * nobody ever sees a half-written lock. The lock of a process that was killed is taken over.
 * @template T
 * @param {string} file
 * @param {() => T | Promise<T>} work
 * @param {{ onWait?: () => void }} [options]
 */
export async function withLock(file, work, { onWait } = {}) {
  const me = nameOf(process.pid);
  let waited = false;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  while (!acquire(file, me)) {
    if (!waited) onWait?.();
    waited = true;
    await sleep(100);
  }
  try {
    return await work();
  } finally {
    if (holderOf(file) === me) fs.unlinkSync(file);
  }
}

/**
 * @param {string} file
 * @param {string} me
 */
function acquire(file, me) {
  try {
    fs.symlinkSync(me, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const holder = holderOf(file);
  if (holder !== undefined && holder !== nameOf(Number(holder.split('@')[0]))) takeAway(file, holder);
  return false;
}

/**
 * Moves a dead holder's lock aside; gives it back if another process has replaced it in the meantime.
 * @param {string} file
 * @param {string} deadHolder
 */
function takeAway(file, deadHolder) {
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
  } catch {
    return;
  }
  const moved = holderOf(aside);
  fs.unlinkSync(aside);
  if (moved !== deadHolder && moved !== undefined) acquire(file, moved);
}

/** @param {string} file */
function holderOf(file) {
  try {
    return fs.readlinkSync(file);
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function nameOf(pid) {
  return `${pid}@${processInfo(pid)?.started ?? 'gone'}`;
}
