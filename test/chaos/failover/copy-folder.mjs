import fs from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from '../../../scripts/lib/errors.mjs';

/** @import { User } from '../../../scripts/lib/folders.mjs' */

/**
 * Copies a folder whose files change, come and go meanwhile.
 * `except`: paths within it that are left out. Folders themselves are kept, empty.
 * @param {string} from
 * @param {string} to
 * @param {{ user: User | undefined; except: RegExp }} options
 */
export async function copyFolder(from, to, { user, except }, within = '') {
  await fs.mkdir(to, { mode: 0o700 });
  if (user) await fs.chown(to, user.uid, user.gid);
  for (const entry of await fs.readdir(from, { withFileTypes: true })) {
    const name = within + entry.name;
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target, { user, except }, `${name}/`);
    else if (!except.test(name)) await copyFile(source, target, user);
  }
}

/**
 * @param {string} source
 * @param {string} target
 * @param {User | undefined} user
 */
async function copyFile(source, target, user) {
  try {
    await fs.copyFile(source, target);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // removed since it was listed
    throw error;
  }
  if (user) await fs.chown(target, user.uid, user.gid);
}
