import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { databaseUser } from './database-user.mjs';
import { canEnter, ourFolderIn } from './folders.mjs';
import { CommandError } from './lifecycle.mjs';
import { dataFolder } from './project.mjs';

/*
 * A server's home is a folder that only the user it runs as can enter. A lasting one is in .data/, or, where that user
 * cannot get there (a project below /root, say), in a place that .data/location names.
 */
const locationFile = path.join(dataFolder, 'location');
const insideProject = path.join(dataFolder, 'postgres');
/** Part of a home's name outside the project, so that a copied project does not take the original's for its own. */
const projectMark = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12);
const temporaryPrefix = 'nest-payment-acceptance-postgres-';

/** The lasting server's home, if there is one yet. */
export function findLastingHome() {
  const noted = fs.existsSync(locationFile) ? fs.readFileSync(locationFile, 'utf8').trim() : '';
  const homes = [path.basename(noted).startsWith(projectMark) ? noted : undefined, insideProject];
  return homes.find((home) => home && fs.existsSync(home));
}

export function makeLastingHome() {
  const user = databaseUser();
  fs.mkdirSync(dataFolder, { recursive: true });
  fs.mkdirSync(insideProject, { mode: 0o700 });
  if (takeOver(insideProject, user)) return insideProject;

  fs.rmdirSync(insideProject);
  const parents = user ? ['/var/lib', '/var/tmp', os.tmpdir()] : [path.join(os.homedir(), '.local/share'), os.tmpdir()];
  const parent = ourFolderIn(parents, user);
  const home = parent && fs.mkdtempSync(path.join(parent, `${projectMark}-`));
  if (!home || !takeOver(home, user)) {
    throw new CommandError(`No folder for the database: tried ${dataFolder}, ${parents.join(', ')}. Set DATABASE_URL.`);
  }
  fs.writeFileSync(locationFile, `${home}\n`);
  return home;
}

export function makeTemporaryHome(user) {
  const parents = temporaryParents();
  for (const parent of parents) {
    const home = fs.mkdtempSync(path.join(parent, temporaryPrefix));
    if (takeOver(home, user)) return home;
    fs.rmdirSync(home);
  }
  throw new CommandError(`No folder for a temporary database: tried ${parents.join(', ')}. Set TEST_DATABASE_URL.`);
}

/** Temporary homes of servers started earlier by us: those still running, and those left behind by a kill -9. */
export function findTemporaryHomes(user) {
  const owners = new Set([process.getuid(), user?.uid]);
  return temporaryParents()
    .flatMap((parent) => fs.readdirSync(parent).map((name) => path.join(parent, name)))
    .filter((home) => path.basename(home).startsWith(temporaryPrefix))
    .filter((home) => {
      const found = fs.lstatSync(home, { throwIfNoEntry: false });
      return found?.isDirectory() && owners.has(found.uid);
    });
}

function temporaryParents() {
  return [...new Set([fs.realpathSync(os.tmpdir()), '/tmp', '/var/tmp'])].filter((folder) => {
    try {
      fs.accessSync(folder, fs.constants.W_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Gives a new folder to the server's user. False where that user cannot get to it, or the modes mean nothing. */
function takeOver(home, user) {
  if (user) fs.chownSync(home, user.uid, user.gid);
  return (fs.statSync(home).mode & 0o077) === 0 && canEnter(home, user);
}
