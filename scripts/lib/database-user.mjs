import fs from 'node:fs';
import { CommandError } from './lifecycle.mjs';

/** @import { User } from './folders.mjs' */

/**
 * The user that PostgreSQL runs as, or undefined for ourselves. It refuses to run as root.
 * `home`: where its data already is, if it is; then whoever owns that.
 * @param {string} [home]
 * @returns {User | undefined}
 */
export function databaseUser(home) {
  const owner = home && fs.statSync(home);
  const self = process.getuid?.();
  if (self !== 0) {
    if (!owner || owner.uid === self) return undefined;
    throw new CommandError(`${home} belongs to another user (id ${owner.uid}): run the command as that user.`);
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return ordinaryUser();
}

/** PostgreSQL looks its user up, so it must be one that the system knows. */
function ordinaryUser() {
  /** @type {Map<string | undefined, User>} */
  const users = new Map();
  for (const line of fs.readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (Number(uid) > 0) users.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  const user = users.get('postgres') ?? users.get('nobody') ?? [...users.values()][0];
  if (!user) throw new CommandError('PostgreSQL does not run as root, and /etc/passwd names no other user.');
  return user;
}
