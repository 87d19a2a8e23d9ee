import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { codeOf } from './errors.mjs';

/** @typedef {{ uid: number; gid: number }} User of the system; in its place, nothing stands for ourselves */

/** The folder name under which this project keeps things outside its own folder. */
const name = `nest-payment-acceptance-${process.getuid?.() ?? 'user'}`;

/**
 * A folder of ours in the first of `parents` where one can be, and where `user` can enter it.
 * In a folder that everybody may write, someone else may have made it before us: only our own counts.
 * @param {readonly string[]} parents
 * @param {User} [user]
 */
export function ourFolderIn(parents, user) {
  for (const parent of parents) {
    const folder = path.join(parent, name);
    try {
      fs.mkdirSync(folder, { mode: 0o755 });
      fs.chmodSync(folder, 0o755); // whatever the umask says
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') continue;
    }
    const found = fs.lstatSync(folder);
    const ours = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
    if (ours && canEnter(folder, user)) return folder;
  }
  return undefined;
}

/**
 * Can `user` get into this folder? Asked of the system, which knows best.
 * @param {string} folder
 * @param {User} [user]
 */
function canEnter(folder, user) {
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...user, cwd: '/', stdio: 'ignore' }).status === 0;
}

/**
 * Gives a new folder to the user of a server, whose home only that user can enter. False where the user cannot get to it,
 * or the modes mean nothing.
 * @param {string} home
 * @param {User} [user]
 */
export function takeOver(home, user) {
  if (user) fs.chownSync(home, user.uid, user.gid);
  return (fs.statSync(home).mode & 0o077) === 0 && canEnter(home, user);
}
